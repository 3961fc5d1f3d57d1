#pragma once

#include <cstddef>
#include <span>

namespace deepvoro {

// Points of unit length, which are padded rows, and the class of each. Non-owning.
struct LabelledPoints {
  std::span<const double* const> points;
  std::span<const std::size_t> labels;
  std::size_t classes = 0;  // none of them without points
  std::size_t dim = 0;
};

}  // namespace deepvoro
