#include "fuzz/harness.hpp"
#include "fuzz/small_pictures.hpp"
#include "picture/formats.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness gif_harness("gif",
                          [](Bytes bytes) { (void)decode_gif(bytes, "picture", kSmallPictures); });

}  // namespace
}  // namespace deepvoro::fuzz
