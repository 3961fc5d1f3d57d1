#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

// Which network, all that its shapes depend on. Networks take pictures of any size and end in
// global average pooling. Their first convolution is 3x3, with stride 1 for pictures of about 84
// pixels or 2 for those of about 168 at the same cost, unless the stem is that of ImageNet.
struct Architecture {
  std::string name = "conv4";
  std::vector<std::size_t> widths;  // channels of the blocks of conv4, 64 each if not given
  std::size_t embedding = 0;        // dimensions of a linear map at the end; 0: none
  bool imagenet_stem = false;
  std::size_t first_stride = 1;  // 1 or 2

  bool operator==(const Architecture&) const = default;
};

inline constexpr std::size_t kConv4Blocks = 4;
inline constexpr double kNormalisationEpsilon = 1e-5;  // added to the variances of all networks

[[nodiscard]] DEEPVORO_API const std::vector<std::string>& architecture_names();

// Throws a usage error when there is no such network.
DEEPVORO_API void check(const Architecture& architecture);

// Pictures below this side leave nothing to pool.
[[nodiscard]] DEEPVORO_API std::size_t smallest_input(const Architecture& architecture);

// Dimensions of its features.
[[nodiscard]] DEEPVORO_API std::size_t feature_count(const Architecture& architecture);

}  // namespace deepvoro
