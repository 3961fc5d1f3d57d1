#include <libheif/heif.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/loaded_library.hpp"
#include "formats.hpp"

namespace deepvoro {
namespace {

class HeifLibrary : LoadedLibrary {
 public:
  HeifLibrary()
      : LoadedLibrary(DEEPVORO_HEIF_LIBRARY, "HEIC and AVIF pictures", ErrorCode::bad_picture) {}

  DEEPVORO_LOADED_FUNCTION(heif_context_alloc);
  DEEPVORO_LOADED_FUNCTION(heif_context_free);
  DEEPVORO_LOADED_FUNCTION(heif_context_get_primary_image_handle);
  DEEPVORO_LOADED_FUNCTION(heif_context_read_from_memory_without_copy);
  DEEPVORO_LOADED_FUNCTION(heif_decode_image);
  DEEPVORO_LOADED_FUNCTION(heif_image_get_height);
  DEEPVORO_LOADED_FUNCTION(heif_image_get_plane_readonly);
  DEEPVORO_LOADED_FUNCTION(heif_image_get_width);
  DEEPVORO_LOADED_FUNCTION(heif_image_handle_get_height);
  DEEPVORO_LOADED_FUNCTION(heif_image_handle_get_width);
  DEEPVORO_LOADED_FUNCTION(heif_image_handle_has_alpha_channel);
  DEEPVORO_LOADED_FUNCTION(heif_image_handle_release);
  DEEPVORO_LOADED_FUNCTION(heif_image_release);
};

const HeifLibrary& libheif() {
  static const HeifLibrary library;
  return library;
}

struct HeifDeleter {
  void operator()(heif_context* context) const { libheif().heif_context_free(context); }
  void operator()(heif_image_handle* handle) const { libheif().heif_image_handle_release(handle); }
  void operator()(heif_image* image) const { libheif().heif_image_release(image); }
};

class HeifReader {
 public:
  HeifReader(std::span<const std::byte> file, const std::string& name)
      : name_(name), context_(libheif().heif_context_alloc()) {
    attempt(libheif().heif_context_read_from_memory_without_copy(context_.get(), file.data(),
                                                                 file.size(), nullptr));
    heif_image_handle* handle = nullptr;
    attempt(libheif().heif_context_get_primary_image_handle(context_.get(), &handle));
    handle_.reset(handle);
  }

  Bitmap decoded(const PictureLimits& limits) {
    check_limits(pixels(libheif().heif_image_handle_get_width(handle_.get())),
                 pixels(libheif().heif_image_handle_get_height(handle_.get())), name_, limits);
    const bool has_alpha = libheif().heif_image_handle_has_alpha_channel(handle_.get()) != 0;
    heif_image* image = nullptr;
    attempt(libheif().heif_decode_image(
        handle_.get(), &image, heif_colorspace_RGB,
        has_alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB, nullptr));
    const std::unique_ptr<heif_image, HeifDeleter> owned(image);
    // Turned and flipped already, as the file says.
    const std::size_t width =
        pixels(libheif().heif_image_get_width(image, heif_channel_interleaved));
    const std::size_t height =
        pixels(libheif().heif_image_get_height(image, heif_channel_interleaved));
    int stride = 0;
    const std::uint8_t* rows =
        libheif().heif_image_get_plane_readonly(image, heif_channel_interleaved, &stride);
    const std::size_t bytes = width * (has_alpha ? kAlphaChannels : kChannels);
    if (rows == nullptr || static_cast<std::size_t>(stride) < bytes)
      throw_damaged(name_, "HEIF", "it has no pixels");
    std::vector<std::uint8_t> together;
    together.reserve(bytes * height);
    for (std::size_t y = 0; y < height; ++y) {
      const std::uint8_t* row = rows + y * static_cast<std::size_t>(stride);
      together.insert(together.end(), row, row + bytes);
    }
    if (has_alpha) return over_white(together, width, height);
    return {width, height, std::move(together)};
  }

 private:
  static std::size_t pixels(int count) { return count > 0 ? static_cast<std::size_t>(count) : 0; }

  void attempt(const heif_error& error) const {
    if (error.code != heif_error_Ok) throw_damaged(name_, "HEIF", error.message);
  }

  const std::string& name_;
  std::unique_ptr<heif_context, HeifDeleter> context_;
  std::unique_ptr<heif_image_handle, HeifDeleter> handle_;
};

}  // namespace

StoredBitmap decode_heif(std::span<const std::byte> file, const std::string& name,
                         const PictureLimits& limits) {
  return {HeifReader(file, name).decoded(limits), 1};
}

}  // namespace deepvoro
