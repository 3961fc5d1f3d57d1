#pragma once

#include <cstddef>

#include "core/matrix.hpp"

namespace deepvoro {

// Takes from a row what lies along the rows above it, which are orthonormal or zero, and makes it a
// unit vector, or zero if nothing is left.
void make_orthonormal(Matrix<double>& directions, std::size_t row);

// So many orthonormal directions: (1, ..., 1), and about those along which the rows vary most, by
// two rounds of subspace iteration on at most 4096 of the rows. Zero where there are not so many.
[[nodiscard]] Matrix<double> leading_directions(MatrixView<const float> rows, std::size_t count);

// out[r][i] = row r . directions[i]
void project(MatrixView<const float> rows, MatrixView<const double> directions,
             MatrixView<float> out);

}  // namespace deepvoro
