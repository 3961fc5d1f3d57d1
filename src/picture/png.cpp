#include <png.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "formats.hpp"

namespace deepvoro {
namespace {

class PngReader : private JumpsBack<PngReader> {
 public:
  PngReader(std::span<const std::byte> file, const std::string& name, const PictureLimits& limits)
      : name_(name), rest_(file) {
    attempt([&] {
      png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
      info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    });
    if (info_ == nullptr) {
      std::snprintf(message_.data(), message_.size(), "no memory");
      fail();
    }
    attempt([&] {
      png_set_read_fn(png_, this, on_read);
      // Our own limits speak of the file by name; these are for what comes before them.
      png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
      png_read_info(png_, info_);
    });
    check(limits);
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { destroy(); }

  [[nodiscard]] std::size_t width() const { return png_get_image_width(png_, info_); }
  [[nodiscard]] std::size_t height() const { return png_get_image_height(png_, info_); }

  // Of the rows that are read, with alpha where the file has it.
  [[nodiscard]] std::size_t channels() const {
    const bool has_alpha = (png_get_color_type(png_, info_) & PNG_COLOR_MASK_ALPHA) != 0;
    return has_alpha ? kAlphaChannels : kChannels;
  }

  // How often all rows have to be read, each time over what is there.
  int start() {
    int passes = 1;
    attempt([&] {
      png_set_expand(png_);
      png_set_strip_16(png_);
      png_set_gray_to_rgb(png_);
      passes = png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
      if (png_get_rowbytes(png_, info_) != width() * channels()) png_error(png_, "odd row length");
    });
    return passes;
  }

  void read_row(std::uint8_t* row) {
    attempt([&] { png_read_row(png_, row, nullptr); });
  }

  void finish() {
    attempt([&] { png_read_end(png_, info_); });
  }

  [[nodiscard]] int orientation() {
    png_uint_32 length = 0;
    png_bytep data = nullptr;
    if (png_get_eXIf_1(png_, info_, &length, &data) == 0 || data == nullptr) return 1;
    return exif_orientation({reinterpret_cast<const std::byte*>(data), length});
  }

 private:
  friend class JumpsBack<PngReader>;

  static void on_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::snprintf(self->message_.data(), self->message_.size(), "%s", message);
    self->jump_back();
  }
  static void on_warning(png_structp /*png*/, png_const_charp /*message*/) {}
  static void on_read(png_structp png, png_bytep to, std::size_t count) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self->rest_.size()) {
      self->truncated_ = true;
      png_error(png, "the file ends");
    }
    std::memcpy(to, self->rest_.data(), count);
    self->rest_ = self->rest_.subspan(count);
  }

  void check(const PictureLimits& limits) {
    try {
      check_limits(width(), height(), name_, limits);
    } catch (...) {
      destroy();  // a constructor that throws has no destructor run
      throw;
    }
  }

  [[noreturn]] void fail() {
    destroy();
    if (truncated_) throw_truncated(name_, "PNG");
    throw_damaged(name_, "PNG", message_.data());
  }

  void destroy() { png_destroy_read_struct(&png_, &info_, nullptr); }

  const std::string& name_;
  std::span<const std::byte> rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::array<char, 200> message_{};
  bool truncated_ = false;
};

}  // namespace

StoredBitmap decode_png(std::span<const std::byte> file, const std::string& name,
                        const PictureLimits& limits) {
  PngReader reader(file, name, limits);
  const int passes = reader.start();
  const std::size_t bytes = reader.width() * reader.channels();
  std::vector<std::uint8_t> pixels;
  if (passes == 1) {
    pixels.reserve(bytes * reader.height());
    std::vector<std::uint8_t> row(bytes);
    for (std::size_t y = 0; y < reader.height(); ++y) {
      reader.read_row(row.data());
      pixels.insert(pixels.end(), row.begin(), row.end());
    }
  } else {
    pixels.resize(bytes * reader.height());
    for (int pass = 0; pass < passes; ++pass)
      for (std::size_t y = 0; y < reader.height(); ++y) reader.read_row(pixels.data() + y * bytes);
  }
  reader.finish();
  const int orientation = reader.orientation();
  if (reader.channels() == kAlphaChannels)
    return {over_white(pixels, reader.width(), reader.height()), orientation};
  return {{reader.width(), reader.height(), std::move(pixels)}, orientation};
}

}  // namespace deepvoro
