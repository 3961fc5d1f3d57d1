#include "deepvoro/picture/bitmap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

Bitmap of_size(std::size_t width, std::size_t height) {
  return {width, height, std::vector<std::uint8_t>(width * height * kChannels)};
}

// The picture whose pixel (x, y) is that of `bitmap` at start + x * right + y * down, counted in
// pixels.
Bitmap rearranged(const Bitmap& bitmap, std::size_t width, std::size_t height, std::ptrdiff_t start,
                  std::ptrdiff_t right, std::ptrdiff_t down) {
  Bitmap result = of_size(width, height);
  std::uint8_t* out = result.pixels.data();
  for (std::size_t y = 0; y < height; ++y) {
    std::ptrdiff_t from = start + static_cast<std::ptrdiff_t>(y) * down;
    for (std::size_t x = 0; x < width; ++x, out += kChannels, from += right)
      std::memcpy(out, bitmap.pixels.data() + from * static_cast<std::ptrdiff_t>(kChannels),
                  kChannels);
  }
  return result;
}

// Half of a margin, rounded as Python's round(): of two whole numbers the even one.
std::size_t half_margin(std::size_t margin) {
  const std::size_t half = margin / 2;
  return half + (margin % 2 == 1 && half % 2 == 1 ? 1 : 0);
}

}  // namespace

Bitmap rotated(const Bitmap& bitmap, int quarter_turns) {
  const auto width = static_cast<std::ptrdiff_t>(bitmap.width);
  const auto height = static_cast<std::ptrdiff_t>(bitmap.height);
  switch ((quarter_turns % 4 + 4) % 4) {
    case 1:
      return rearranged(bitmap, bitmap.height, bitmap.width, width - 1, width, -1);
    case 2:
      return rearranged(bitmap, bitmap.width, bitmap.height, width * height - 1, -1, -width);
    case 3:
      return rearranged(bitmap, bitmap.height, bitmap.width, width * (height - 1), -width, 1);
    default:
      return bitmap;
  }
}

Bitmap flipped(const Bitmap& bitmap) {
  const auto width = static_cast<std::ptrdiff_t>(bitmap.width);
  return rearranged(bitmap, bitmap.width, bitmap.height, width - 1, -1, width);
}

Bitmap cropped(const Bitmap& bitmap, std::size_t left, std::size_t top, std::size_t width,
               std::size_t height) {
  if (width > bitmap.width || left > bitmap.width - width || height > bitmap.height ||
      top > bitmap.height - height)
    throw usage_error(fmt::format("{} x {} pixels at ({}, {}) cannot be cut out of {} x {}", width,
                                  height, left, top, bitmap.width, bitmap.height));
  Bitmap result = of_size(width, height);
  for (std::size_t y = 0; y < height; ++y)
    std::copy_n(bitmap.pixels.data() + ((top + y) * bitmap.width + left) * kChannels,
                width * kChannels, result.pixels.data() + y * width * kChannels);
  return result;
}

Bitmap central_crop(const Bitmap& bitmap, std::size_t width, std::size_t height) {
  if (width > bitmap.width || height > bitmap.height)
    throw usage_error(fmt::format("{} x {} pixels cannot be cut out of {} x {}", width, height,
                                  bitmap.width, bitmap.height));
  return cropped(bitmap, half_margin(bitmap.width - width), half_margin(bitmap.height - height),
                 width, height);
}

}  // namespace deepvoro
