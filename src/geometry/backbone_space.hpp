#pragma once

#include "core/matrix.hpp"
#include "deepvoro/geometry/backbone_space.hpp"

namespace deepvoro {

// A point, which is a padded row, of unit length; zero stays zero.
void to_unit(double* point, std::size_t length);

// The space of a network's points, made even by what is known of them.
class BackboneSpace {
 public:
  BackboneSpace() = default;  // nothing is known: points stay as they are
  explicit BackboneSpace(const SpaceStatistics& statistics);

  // In place; points are padded rows.
  void take_off_mean(double* point) const;
  void shrink(double* point) const;

 private:
  Matrix<double> mean_;  // one row
  Matrix<double> directions_;
  std::vector<double> shrinkage_;
};

}  // namespace deepvoro
