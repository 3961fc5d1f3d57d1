#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

// The pixels of a picture: RGB, 3 bytes per pixel, row by row from the top, no gaps.
struct Image {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::uint8_t> pixels;

  [[nodiscard]] bool operator==(const Image&) const = default;
};

// Quarter turns are counterclockwise, as Pillow's rotate(90); any number, negative ones clockwise.
[[nodiscard]] DEEPVORO_API Image rotated(const Image& image, int quarter_turns);
[[nodiscard]] DEEPVORO_API Image flipped(const Image& image);  // left and right change places
[[nodiscard]] DEEPVORO_API Image cropped(const Image& image, std::size_t left, std::size_t top,
                                         std::size_t width, std::size_t height);
// The middle; a margin that cannot be halved is split as torchvision's CenterCrop does.
[[nodiscard]] DEEPVORO_API Image central_crop(const Image& image, std::size_t width,
                                              std::size_t height);

}  // namespace deepvoro
