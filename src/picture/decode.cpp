#include "deepvoro/picture/decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/files.hpp"
#include "deepvoro/core/error.hpp"
#include "formats.hpp"

namespace deepvoro {
namespace {

constexpr std::array kJpegSignature{std::byte{0xFF}, std::byte{0xD8}, std::byte{0xFF}};
constexpr std::array kPngSignature{std::byte{0x89}, std::byte{'P'},  std::byte{'N'},
                                   std::byte{'G'},  std::byte{'\r'}, std::byte{'\n'},
                                   std::byte{0x1A}, std::byte{'\n'}};

template <std::size_t N>
bool begins_with(std::span<const std::byte> file, const std::array<std::byte, N>& signature) {
  return file.size() >= N && std::ranges::equal(file.first(N), signature);
}

void check_begin(std::span<const std::byte> file, const std::string& name) {
  if (file.empty())
    throw data_error(fmt::format("{}: is empty; copy it again or remove it", name),
                     ErrorCode::bad_picture);
  if (!begins_with(file, kJpegSignature) && !begins_with(file, kPngSignature))
    throw data_error(
        fmt::format("{}: is neither a JPEG nor a PNG file; convert it or remove it", name),
        ErrorCode::bad_picture);
}

Bitmap upright(StoredBitmap stored) {
  Bitmap& bitmap = stored.bitmap;
  switch (stored.orientation) {
    case 2:
      return flipped(bitmap);
    case 3:
      return rotated(bitmap, 2);
    case 4:
      return flipped(rotated(bitmap, 2));
    case 5:
      return flipped(rotated(bitmap, 3));
    case 6:
      return rotated(bitmap, 3);
    case 7:
      return flipped(rotated(bitmap, 1));
    case 8:
      return rotated(bitmap, 1);
    default:
      return std::move(bitmap);
  }
}

}  // namespace

void check_limits(std::size_t width, std::size_t height, const std::string& name,
                  const PictureLimits& limits) {
  if (width == 0 || height == 0)
    throw data_error(fmt::format("{}: has no pixels; copy it again or remove it", name),
                     ErrorCode::bad_picture);
  if (std::max(width, height) > limits.most_side || width * height > limits.most_pixels)
    throw data_error(
        fmt::format("{}: is {} x {} pixels, more than a side of {} or {} in all; make it smaller",
                    name, width, height, limits.most_side, limits.most_pixels),
        ErrorCode::bad_picture);
}

void throw_damaged(const std::string& name, const char* format, const char* why) {
  throw data_error(
      fmt::format("{}: is a damaged {} file ({}); copy it again or remove it", name, format, why),
      ErrorCode::bad_picture);
}

void throw_truncated(const std::string& name, const char* format) {
  throw data_error(
      fmt::format("{}: is a truncated {} file; copy it again or remove it", name, format),
      ErrorCode::bad_picture);
}

Bitmap decode_picture(std::span<const std::byte> file, const std::string& name,
                      const PictureLimits& limits) {
  check_begin(file, name);
  if (begins_with(file, kJpegSignature)) return upright(decode_jpeg(file, name, limits));
  return upright(decode_png(file, name, limits));
}

Bitmap read_bitmap(const std::filesystem::path& file, const PictureLimits& limits) {
  const MappedFile mapped(file);
  return decode_picture(mapped.bytes(), file.string(), limits);
}

void check_begins_like_a_picture(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  check_begin(mapped.bytes(), file.string());
}

}  // namespace deepvoro
