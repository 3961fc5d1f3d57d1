#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/matrix.hpp"

namespace deepvoro {

// Points of unit length, which are padded rows, and the class of each. Non-owning.
struct LabelledPoints {
  std::span<const double* const> points;
  std::span<const std::size_t> labels;
  std::size_t classes = 0;  // none of them without points
  std::size_t dim = 0;
};

// Products of all points with each other, so that parts of them can be fitted one after the other.
[[nodiscard]] Matrix<double> products_of(std::span<const double* const> points, std::size_t dim,
                                         unsigned threads);

// A ridge regression of the classes in which each class has the same weight, whatever its number of
// points. It is linear, so its cells are those of a Power diagram.
class BalancedRidge {
 public:
  explicit BalancedRidge(const LabelledPoints& support, unsigned threads = 1);

  // out[k] = score of class k, near 1 for its points and near 0 for others.
  void scores(const double* point, std::span<double> out) const;

  // The scores of some points by the ridge that others would give: row `of[i]` of `products` is
  // that of a point whose scores go to out[i], and `from` are those it is fitted on.
  static void scores_by_products(const Matrix<double>& products, std::span<const std::size_t> from,
                                 std::span<const std::size_t> labels, std::size_t classes,
                                 std::span<const std::size_t> of, MatrixView<double> out);

 private:
  Matrix<double> weights_;  // [classes x dim]
  std::vector<double> offsets_;
};

}  // namespace deepvoro
