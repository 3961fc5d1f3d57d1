#include "fuzz/harness.hpp"
#include "fuzz/small_pictures.hpp"
#include "picture/formats.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness bmp_harness("bmp",
                          [](Bytes bytes) { (void)decode_bmp(bytes, "picture", kSmallPictures); });

}  // namespace
}  // namespace deepvoro::fuzz
