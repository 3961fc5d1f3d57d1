#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "deepvoro/picture/bitmap.hpp"

// Pictures and their files for tests, written without the library.
namespace deepvoro::test {

[[nodiscard]] Bitmap random_picture(std::size_t width, std::size_t height, std::uint32_t seed);

enum class JpegColors { rgb, grey, cmyk };
[[nodiscard]] std::string jpeg_bytes(const Bitmap& bitmap, JpegColors colors = JpegColors::rgb,
                                     bool progressive = false);
[[nodiscard]] std::string png_bytes(const Bitmap& bitmap);

// A file that says it is a picture of this size, and ends there.
[[nodiscard]] std::string jpeg_header(std::uint16_t width, std::uint16_t height);
[[nodiscard]] std::string png_header(std::uint32_t width, std::uint32_t height);

struct TarMember {
  std::string path;
  std::string data;
  char type = '0';
};
[[nodiscard]] std::string tar_bytes(const std::vector<TarMember>& members);
[[nodiscard]] std::string big_endian(std::uint32_t number);

}  // namespace deepvoro::test
