#include "fuzz/harness.hpp"
#include "fuzz/small_pictures.hpp"
#include "picture/formats.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness png_harness("png",
                          [](Bytes bytes) { (void)decode_png(bytes, "picture", kSmallPictures); });

}  // namespace
}  // namespace deepvoro::fuzz
