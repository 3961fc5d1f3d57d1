#pragma once

#include <cstddef>

#include "core/matrix.hpp"
#include "deepvoro/geometry/geometry.hpp"
#include "dense.hpp"

namespace deepvoro {

// Sums of products of the elements of rows.
class Scatter {
 public:
  explicit Scatter(std::size_t dim);

  // Room for the next row, to be filled element by element by set().
  void begin_row();
  void set(std::size_t i, double value);
  // Of all rows so far; the lower half.
  [[nodiscard]] Dense sums();

 private:
  void flush();

  std::size_t dim_;
  Matrix<double> panels_;
  Matrix<double> sums_;
  std::size_t rows_ = 0;
};

// How the rows of some classes lie.
struct ClassScatter {
  Dense class_means;     // [dim x classes]
  Eigen::VectorXd mean;  // of the class means
  Dense within;          // covariance around the class means, pooled; the lower half
  std::size_t rows = 0;
};

// Some class has more than one row.
[[nodiscard]] ClassScatter scatter_of(const BaseRows& base);

}  // namespace deepvoro
