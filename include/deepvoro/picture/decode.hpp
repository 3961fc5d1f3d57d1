#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <span>
#include <string>

#include "deepvoro/core/export.hpp"
#include "deepvoro/picture/bitmap.hpp"

namespace deepvoro {

// What a file may claim about its size; looked at before any memory is taken for its pixels.
struct PictureLimits {
  std::size_t most_pixels = std::size_t{1} << 26U;
  std::size_t most_side = 20'000;
};

inline constexpr std::size_t kAllPixels = std::numeric_limits<std::size_t>::max();

// A JPEG, PNG, WebP, HEIC, AVIF, TIFF, GIF or BMP file, told apart by content. Of several frames
// the first one is taken. Grey, palettes and CMYK become RGB, what is transparent shows white, of
// 16 bits the upper 8 are kept, EXIF orientation is applied. A file that is damaged in any way is a
// data error that begins with `name`. A JPEG comes at 1/2, 1/4 or 1/8 of its size, which is
// quicker, where that leaves no remainder and both sides at least `least_side`.
[[nodiscard]] DEEPVORO_API Bitmap decode_picture(std::span<const std::byte> file,
                                                 const std::string& name,
                                                 const PictureLimits& limits = {},
                                                 std::size_t least_side = kAllPixels);
[[nodiscard]] DEEPVORO_API Bitmap read_bitmap(const std::filesystem::path& file,
                                              const PictureLimits& limits = {},
                                              std::size_t least_side = kAllPixels);

// A data error where the first bytes of a file show already that it is no picture.
DEEPVORO_API void check_begins_like_a_picture(const std::filesystem::path& file);

}  // namespace deepvoro
