#pragma once

#include <cstddef>
#include <vector>

#include "core/matrix.hpp"

namespace deepvoro {

// A guess of the Hessian of a sum of softmax cross-entropies plus |W|^2/2: that of the given
// samples in the span of some orthonormal directions and for the biases, that of the penalty alone
// across it.
class Curvature {
 public:
  // `directions` must outlive this.
  Curvature(MatrixView<const double> directions, std::size_t ways);

  // How many coordinates a sample has: its dot products with the directions, then 1.
  [[nodiscard]] std::size_t coordinates() const { return directions_.rows() + 1; }

  // `samples`: their coordinates; `probabilities`: [samples x ways]. False if rounding makes the
  // Hessian useless.
  [[nodiscard]] bool measure(MatrixView<const float> samples,
                             MatrixView<const float> probabilities);

  // Divides a gradient by the Hessian: one row of `stride` elements for each way, then the biases.
  void divide(double* gradient, std::size_t stride);

 private:
  void add_block(std::size_t k, std::size_t l, MatrixView<const float> samples,
                 MatrixView<const float> probabilities);
  [[nodiscard]] bool factorise();
  void solve();

  MatrixView<const double> directions_;
  std::size_t ways_;
  Matrix<float> weighted_;  // samples
  Matrix<float> block_;
  Matrix<double> factor_;  // the lower triangle of Cholesky's
  std::vector<double> row_, sums_, before_, right_;
};

}  // namespace deepvoro
