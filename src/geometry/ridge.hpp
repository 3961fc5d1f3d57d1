#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/matrix.hpp"
#include "labelled_points.hpp"

namespace deepvoro {

// Products of all points with each other, so that parts of them can be fitted one after the other.
[[nodiscard]] Matrix<double> products_of(std::span<const double* const> points, std::size_t dim,
                                         unsigned threads);

// How much the weights of a ridge regression are drawn to zero, in units of the mean squared
// distance of the points from their mean. The first is the usual one.
inline constexpr std::array kRidgeStrengths{1.0, 0.1};

// A ridge regression of the classes in which each class has the same weight, whatever its number of
// points. It is linear, so its cells are those of a Power diagram.
class BalancedRidge {
 public:
  BalancedRidge(const LabelledPoints& support, double strength, unsigned threads = 1);

  // out[k] = score of class k, near 1 for its points and near 0 for others.
  void scores(const double* point, std::span<double> out) const;

  // The scores of some points by the ridges that others would give, one of each strength. Points
  // are rows of `products`: `from` those it is fitted on, and `of` those whose scores go to the
  // same rows of out[strength].
  static void scores_by_products(const Matrix<double>& products, std::span<const std::size_t> from,
                                 std::span<const std::size_t> labels, std::size_t classes,
                                 std::span<const std::size_t> of, std::span<const double> strengths,
                                 std::span<const MatrixView<double>> out);

 private:
  Matrix<double> weights_;  // [classes x dim]
  std::vector<double> offsets_;
};

}  // namespace deepvoro
