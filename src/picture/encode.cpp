#include "picture/encode.hpp"

#include <png.h>

#include "deepvoro/core/error.hpp"

namespace deepvoro {

std::vector<std::byte> encode_png(const Bitmap& bitmap) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(bitmap.width);
  image.height = static_cast<png_uint_32>(bitmap.height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> file(size);
  if (png_image_write_to_memory(&image, file.data(), &size, 0, bitmap.pixels.data(), 0, nullptr) ==
      0)
    throw internal_error("a picture cannot be written as PNG");
  file.resize(size);
  return file;
}

}  // namespace deepvoro
