#include "heads/leading_directions.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/head_kernels.hpp"

namespace deepvoro {
namespace {

double dot(const double* a, const double* b, std::size_t length) {
  double result = 0;
  kernels::head_kernels().dots(a, b, 0, 1, length, &result);
  return result;
}

// (1, ..., 1) and the candidates, made orthonormal.
Matrix<double> orthonormal(MatrixView<const float> candidates, std::size_t count) {
  Matrix<double> directions(count, candidates.cols());
  std::fill_n(directions.row(0), candidates.cols(), 1.0);
  make_orthonormal(directions, 0);
  for (std::size_t r = 1; r < count; ++r) {
    if (r <= candidates.rows())
      std::copy_n(candidates.row(r - 1), candidates.cols(), directions.row(r));
    make_orthonormal(directions, r);
  }
  return directions;
}

// sum_r row_r (row_r . direction) for every direction.
Matrix<float> multiplied(MatrixView<const float> rows, const Matrix<double>& directions) {
  Matrix<float> products(rows.rows(), directions.rows());
  project(rows, directions.view(), products.view());
  Matrix<float> sums(directions.rows(), rows.cols());
  kernels::head_kernels().add_products(products.row(0), products.stride(), directions.rows(),
                                       rows.row(0), rows.rows(), rows.stride(), sums.stride(),
                                       sums.row(0), sums.stride());
  return sums;
}

}  // namespace

void make_orthonormal(Matrix<double>& directions, std::size_t row) {
  constexpr double nothing = 1e-5;
  const std::size_t length = directions.stride();
  double* made = directions.row(row);
  const double before = std::sqrt(dot(made, made, length));
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < row; ++i)
      kernels::head_kernels().add_multiple(-dot(made, directions.row(i), length), directions.row(i),
                                           length, made);
  const double after = std::sqrt(dot(made, made, length));
  const double scale = after > nothing * before ? 1 / after : 0;
  for (std::size_t d = 0; d < length; ++d) made[d] *= scale;
}

Matrix<double> leading_directions(MatrixView<const float> rows, std::size_t count) {
  constexpr std::size_t most_rows = 4096;
  constexpr int rounds = 2;
  const std::size_t apart = (rows.rows() + most_rows - 1) / most_rows;
  const MatrixView<const float> some(rows.row(0), rows.rows() / apart, rows.cols(),
                                     apart * rows.stride());
  const std::size_t starts = std::min(count, some.rows());
  const MatrixView<const float> start(some.row(0), starts, some.cols(),
                                      some.rows() / starts * some.stride());
  Matrix<double> directions = orthonormal(start, count);
  for (int round = 0; round < rounds; ++round)
    directions = orthonormal(multiplied(some, directions).view(), count);
  return directions;
}

void project(MatrixView<const float> rows, MatrixView<const double> directions,
             MatrixView<float> out) {
  Matrix<float> rounded(directions.rows(), directions.cols());
  std::vector<const float*> of_directions;
  for (std::size_t i = 0; i < directions.rows(); ++i) {
    for (std::size_t d = 0; d < directions.cols(); ++d)
      rounded.row(i)[d] = static_cast<float>(directions.row(i)[d]);
    of_directions.push_back(rounded.row(i));
  }
  std::vector<const float*> of_rows;
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    of_rows.push_back(rows.row(r));
    std::fill_n(out.row(r), directions.rows(), 0.0F);
  }
  kernels::add_dots(kernels::active(),
                    kernels::DotProducts<float>{.queries = of_rows.data(),
                                                .query_count = of_rows.size(),
                                                .centers = of_directions.data(),
                                                .center_count = directions.rows(),
                                                .length = rounded.stride(),
                                                .out = out.row(0),
                                                .center_stride = 1,
                                                .query_stride = out.stride()});
}

}  // namespace deepvoro
