#include "deepvoro/picture/decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/files.hpp"
#include "core/text.hpp"
#include "deepvoro/core/error.hpp"
#include "formats.hpp"

namespace deepvoro {
namespace {

using EncodedBytes = std::span<const std::byte>;
using namespace std::string_view_literals;

std::string_view text_in(EncodedBytes file, std::size_t at, std::size_t count) {
  if (file.size() < at + count) return {};
  return {reinterpret_cast<const char*>(file.data()) + at, count};
}

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> known) {
  return std::ranges::find(known, text) != known.end();
}

// A kind of file, told by how it begins.
struct PictureFormat {
  PictureKind kind;
  bool (*recognises)(EncodedBytes file);
  StoredBitmap (*decode)(EncodedBytes file, const std::string& name, const PictureLimits& limits,
                         std::size_t least_side);
};

// Of formats that always come with all pixels.
template <auto kDecode>
StoredBitmap decode_whole(EncodedBytes file, const std::string& name, const PictureLimits& limits,
                          std::size_t /*least_side*/) {
  return kDecode(file, name, limits);
}

constexpr std::array<PictureFormat, 7> kPictureFormats{{
    {{".jpg", "image/jpeg"},
     [](EncodedBytes file) { return text_in(file, 0, 3) == "\xFF\xD8\xFF"sv; },
     decode_jpeg},
    {{".png", "image/png"},
     [](EncodedBytes file) { return text_in(file, 0, 8) == "\x89PNG\r\n\x1A\n"sv; },
     decode_whole<decode_png>},
    {{".webp", "image/webp"},
     [](EncodedBytes file) {
       return text_in(file, 0, 4) == "RIFF"sv && text_in(file, 8, 4) == "WEBP"sv;
     },
     decode_whole<decode_webp>},
    {{".gif", "image/gif"},
     [](EncodedBytes file) {
       return is_any_of(text_in(file, 0, 6), {"GIF87a"sv, "GIF89a"sv});
     },
     decode_whole<decode_gif>},
    {{".tif", "image/tiff"},
     [](EncodedBytes file) {
       return is_any_of(text_in(file, 0, 4), {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv});
     },
     decode_whole<decode_tiff>},
    {{".heic", "image/heic"},
     [](EncodedBytes file) {
       return text_in(file, 4, 4) == "ftyp"sv &&
              is_any_of(text_in(file, 8, 4), {"heic"sv, "heix"sv, "hevc"sv, "hevx"sv, "heim"sv,
                                              "heis"sv, "mif1"sv, "msf1"sv, "avif"sv, "avis"sv});
     },
     decode_whole<decode_heif>},
    {{".bmp", "image/bmp"}, begins_like_bmp, decode_whole<decode_bmp>},
}};

const PictureFormat& picture_format_of(EncodedBytes file, const std::string& name) {
  if (file.empty())
    throw data_error(fmt::format("{}: is empty; copy it again or remove it", name),
                     ErrorCode::bad_picture);
  const auto found = std::ranges::find_if(
      kPictureFormats, [&](const PictureFormat& format) { return format.recognises(file); });
  if (found == kPictureFormats.end())
    throw data_error(
        fmt::format("{}: is not a picture of a known kind (JPEG, PNG, WebP, HEIC, AVIF, "
                    "TIFF, GIF, BMP); convert it or remove it",
                    name),
        ErrorCode::bad_picture);
  return *found;
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
  throw data_error(fmt::format("{}: is a damaged {} file ({}); copy it again or remove it", name,
                               format, as_text_line(why)),
                   ErrorCode::bad_picture);
}

void throw_truncated(const std::string& name, const char* format) {
  throw data_error(
      fmt::format("{}: is a truncated {} file; copy it again or remove it", name, format),
      ErrorCode::bad_picture);
}

PictureKind picture_kind(std::span<const std::byte> file, const std::string& name) {
  return picture_format_of(file, name).kind;
}

Bitmap over_white(std::span<const std::uint8_t> rgba, std::size_t width, std::size_t height) {
  Bitmap bitmap{width, height, {}};
  bitmap.pixels.reserve(width * height * kChannels);
  for (std::size_t i = 0; i < rgba.size(); i += kAlphaChannels)
    for (std::size_t c = 0; c < kChannels; ++c)
      bitmap.pixels.push_back(over_white(rgba[i + c], rgba[i + kChannels]));
  return bitmap;
}

Bitmap decode_picture(std::span<const std::byte> file, const std::string& name,
                      const PictureLimits& limits, std::size_t least_side) {
  return upright(picture_format_of(file, name).decode(file, name, limits, least_side));
}

Bitmap read_bitmap(const std::filesystem::path& file, const PictureLimits& limits,
                   std::size_t least_side) {
  const MappedFile mapped(file);
  return decode_picture(mapped.bytes(), file.string(), limits, least_side);
}

void check_begins_like_a_picture(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  (void)picture_format_of(mapped.bytes(), file.string());
}

}  // namespace deepvoro
