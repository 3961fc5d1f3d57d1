#pragma once

#include <cstddef>

namespace deepvoro {

// Rows of fewer dimensions are kept and measured in double, where the rounding of a single element
// could show in a distance; longer ones in float32. Sums over members are in double.
inline constexpr std::size_t kFloatDim = 64;

}  // namespace deepvoro
