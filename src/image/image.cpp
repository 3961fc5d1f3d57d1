#include "deepvoro/image/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kChannels = 3;

Image of_size(std::size_t width, std::size_t height) {
  return {width, height, std::vector<std::uint8_t>(width * height * kChannels)};
}

// The picture whose pixel (x, y) is that of `image` at start + x * right + y * down, counted in
// pixels.
Image rearranged(const Image& image, std::size_t width, std::size_t height, std::ptrdiff_t start,
                 std::ptrdiff_t right, std::ptrdiff_t down) {
  Image result = of_size(width, height);
  std::uint8_t* out = result.pixels.data();
  for (std::size_t y = 0; y < height; ++y) {
    std::ptrdiff_t from = start + static_cast<std::ptrdiff_t>(y) * down;
    for (std::size_t x = 0; x < width; ++x, out += kChannels, from += right)
      std::memcpy(out, image.pixels.data() + from * static_cast<std::ptrdiff_t>(kChannels),
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

Image rotated(const Image& image, int quarter_turns) {
  const auto width = static_cast<std::ptrdiff_t>(image.width);
  const auto height = static_cast<std::ptrdiff_t>(image.height);
  switch ((quarter_turns % 4 + 4) % 4) {
    case 1:
      return rearranged(image, image.height, image.width, width - 1, width, -1);
    case 2:
      return rearranged(image, image.width, image.height, width * height - 1, -1, -width);
    case 3:
      return rearranged(image, image.height, image.width, width * (height - 1), -width, 1);
    default:
      return image;
  }
}

Image flipped(const Image& image) {
  const auto width = static_cast<std::ptrdiff_t>(image.width);
  return rearranged(image, image.width, image.height, width - 1, -1, width);
}

Image cropped(const Image& image, std::size_t left, std::size_t top, std::size_t width,
              std::size_t height) {
  if (width > image.width || left > image.width - width || height > image.height ||
      top > image.height - height)
    throw usage_error(fmt::format("{} x {} pixels at ({}, {}) cannot be cut out of {} x {}", width,
                                  height, left, top, image.width, image.height));
  Image result = of_size(width, height);
  for (std::size_t y = 0; y < height; ++y)
    std::copy_n(image.pixels.data() + ((top + y) * image.width + left) * kChannels,
                width * kChannels, result.pixels.data() + y * width * kChannels);
  return result;
}

Image central_crop(const Image& image, std::size_t width, std::size_t height) {
  if (width > image.width || height > image.height)
    throw usage_error(fmt::format("{} x {} pixels cannot be cut out of {} x {}", width, height,
                                  image.width, image.height));
  return cropped(image, half_margin(image.width - width), half_margin(image.height - height), width,
                 height);
}

}  // namespace deepvoro
