#pragma once

#include <cstddef>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/geometry/geometry.hpp"

namespace deepvoro {

// How the points that a network makes of pictures lie, whatever the pictures show: their mean, and
// the directions in which pictures of one class differ most, with the part of each that is better
// taken off. They travel with the network, because they hold for classes it has never seen.
struct DEEPVORO_API SpaceStatistics {
  static constexpr std::size_t kDirections = 128;

  std::vector<double> mean;        // [dim], of the class means
  std::vector<double> directions;  // [shrinkage.size() x dim], each of unit length
  std::vector<double> shrinkage;   // 0 to 1, the largest first

  bool operator==(const SpaceStatistics&) const = default;
  [[nodiscard]] std::size_t dim() const { return mean.size(); }

  // Of points of many classes: the leading eigenvectors of their pooled covariance within classes,
  // kDirections at most. Throws a data error where no class has two different points.
  [[nodiscard]] static SpaceStatistics of(const BaseRows& points);
};

}  // namespace deepvoro
