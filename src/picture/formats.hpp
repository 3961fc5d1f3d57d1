#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "deepvoro/picture/decode.hpp"

namespace deepvoro {

// A picture as stored, with what EXIF says about how to hold it: 1 to 8, 1 being upright.
struct StoredBitmap {
  Bitmap bitmap;
  int orientation = 1;
};

[[nodiscard]] StoredBitmap decode_jpeg(std::span<const std::byte> file, const std::string& name,
                                       const PictureLimits& limits, std::size_t least_side);
[[nodiscard]] StoredBitmap decode_png(std::span<const std::byte> file, const std::string& name,
                                      const PictureLimits& limits);
[[nodiscard]] StoredBitmap decode_bmp(std::span<const std::byte> file, const std::string& name,
                                      const PictureLimits& limits);
// The following need libraries that a build may be without: they say so then.
[[nodiscard]] StoredBitmap decode_webp(std::span<const std::byte> file, const std::string& name,
                                       const PictureLimits& limits);
[[nodiscard]] StoredBitmap decode_gif(std::span<const std::byte> file, const std::string& name,
                                      const PictureLimits& limits);
[[nodiscard]] StoredBitmap decode_tiff(std::span<const std::byte> file, const std::string& name,
                                       const PictureLimits& limits);
// HEIC and AVIF.
[[nodiscard]] StoredBitmap decode_heif(std::span<const std::byte> file, const std::string& name,
                                       const PictureLimits& limits);

[[nodiscard]] bool begins_like_bmp(std::span<const std::byte> file);

inline constexpr std::size_t kAlphaChannels = 4;

// What is transparent shows white behind it.
[[nodiscard]] constexpr std::uint8_t over_white(std::uint8_t colour, std::uint8_t alpha) {
  return static_cast<std::uint8_t>((colour * alpha + 255 * (255 - alpha) + 127) / 255);
}
[[nodiscard]] Bitmap over_white(std::span<const std::uint8_t> rgba, std::size_t width,
                                std::size_t height);

// What readers on top of libjpeg and libpng share. These report an error by a function that must
// not return: it jumps back to attempt(), which calls the reader's fail(). No object with a
// destructor may live in the frames between.
template <class Reader>
class JumpsBack {
 protected:
  template <class Calls>
  void attempt(const Calls& calls) {
    if (setjmp(back_) == 0) {
      calls();
      return;
    }
    static_cast<Reader*>(this)->fail();
  }
  [[noreturn]] void jump_back() { std::longjmp(back_, 1); }

 private:
  std::jmp_buf back_{};
};

// How files of a kind of picture are named, and what they are called on the web.
struct PictureKind {
  const char* ending;
  const char* media_type;
};
// By how a file begins; a data error where it is no picture.
[[nodiscard]] PictureKind picture_kind(std::span<const std::byte> file, const std::string& name);

// Throws when a picture of this size may not be read.
void check_limits(std::size_t width, std::size_t height, const std::string& name,
                  const PictureLimits& limits);

// What a damaged picture is reported as; `why` is the decoder's own message.
[[noreturn]] void throw_damaged(const std::string& name, const char* format, const char* why);
[[noreturn]] void throw_truncated(const std::string& name, const char* format);

// The orientation in EXIF data, with or without the word that they begin with; 1 where there is
// none.
[[nodiscard]] int exif_orientation(std::span<const std::byte> bytes);

}  // namespace deepvoro
