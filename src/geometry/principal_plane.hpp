#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "core/matrix.hpp"

namespace deepvoro {

using PlanePoint = std::array<double, 2>;

// The plane in which some rows differ most from their mean: their first two principal components.
// Of each axis, the element of the largest size is positive. Where rows do not differ in two
// directions, an axis is zero.
class PrincipalPlane {
 public:
  explicit PrincipalPlane(MatrixView<const double> rows);

  [[nodiscard]] PlanePoint operator()(const double* row) const;

 private:
  std::vector<double> mean_;
  std::array<std::vector<double>, 2> axes_;
};

}  // namespace deepvoro
