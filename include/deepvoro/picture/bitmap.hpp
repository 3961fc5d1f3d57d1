#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

inline constexpr std::size_t kChannels = 3;

// The pixels of a picture: RGB, a byte each, row by row from the top, no gaps.
struct Bitmap {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::uint8_t> pixels;

  [[nodiscard]] bool operator==(const Bitmap&) const = default;
};

// Quarter turns are counterclockwise, as Pillow's rotate(90); any number, negative ones clockwise.
[[nodiscard]] DEEPVORO_API Bitmap rotated(const Bitmap& bitmap, int quarter_turns);
[[nodiscard]] DEEPVORO_API Bitmap flipped(const Bitmap& bitmap);  // left and right change places
[[nodiscard]] DEEPVORO_API Bitmap cropped(const Bitmap& bitmap, std::size_t left, std::size_t top,
                                          std::size_t width, std::size_t height);
// The middle; a margin that cannot be halved is split as torchvision's CenterCrop does.
[[nodiscard]] DEEPVORO_API Bitmap central_crop(const Bitmap& bitmap, std::size_t width,
                                               std::size_t height);

}  // namespace deepvoro
