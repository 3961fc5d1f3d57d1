#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/matrix.hpp"
#include "test_store.hpp"

// What the tests of several heads need.
namespace deepvoro::test {

[[nodiscard]] inline Matrix<double> unit_rows(std::size_t count, std::size_t dim,
                                              std::uint32_t seed) {
  Matrix<double> rows = random_points(count, dim, seed);
  for (std::size_t r = 0; r < count; ++r) {
    double squared = 0;
    for (std::size_t d = 0; d < dim; ++d) squared += rows.row(r)[d] * rows.row(r)[d];
    for (std::size_t d = 0; d < dim; ++d) rows.row(r)[d] /= std::sqrt(squared);
  }
  return rows;
}

[[nodiscard]] std::vector<double> influence_of(const auto& head, const double* query,
                                               std::size_t ways) {
  std::vector<double> out(ways);
  head.influence(query, out);
  return out;
}

}  // namespace deepvoro::test
