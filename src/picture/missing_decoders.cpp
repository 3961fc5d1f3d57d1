#include <fmt/format.h>

#include "deepvoro/core/error.hpp"
#include "formats.hpp"

// What stands for the decoders whose library was not there when the program was built.
namespace deepvoro {
namespace {

using FileBytes = std::span<const std::byte>;

[[noreturn, maybe_unused]] void throw_not_built(const std::string& name, const char* format,
                                                const char* package) {
  throw data_error(fmt::format("{}: is a {} file, which this program was built without; apt-get "
                               "install {} and build again, or convert the picture",
                               name, format, package),
                   ErrorCode::bad_picture);
}

}  // namespace

#ifndef DEEPVORO_WEBP
StoredBitmap decode_webp(FileBytes /*file*/, const std::string& name,
                         const PictureLimits& /*limits*/) {
  throw_not_built(name, "WebP", "libwebp-dev");
}
#endif

#ifndef DEEPVORO_GIF
StoredBitmap decode_gif(FileBytes /*file*/, const std::string& name,
                        const PictureLimits& /*limits*/) {
  throw_not_built(name, "GIF", "libgif-dev");
}
#endif

#ifndef DEEPVORO_TIFF
StoredBitmap decode_tiff(FileBytes /*file*/, const std::string& name,
                         const PictureLimits& /*limits*/) {
  throw_not_built(name, "TIFF", "libtiff-dev");
}
#endif

#ifndef DEEPVORO_HEIF
StoredBitmap decode_heif(FileBytes /*file*/, const std::string& name,
                         const PictureLimits& /*limits*/) {
  throw_not_built(name, "HEIC or AVIF", "libheif-dev");
}
#endif

}  // namespace deepvoro
