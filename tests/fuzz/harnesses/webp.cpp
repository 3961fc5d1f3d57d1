#include "fuzz/harness.hpp"
#include "fuzz/small_pictures.hpp"
#include "picture/formats.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness webp_harness("webp", [](Bytes bytes) {
  (void)decode_webp(bytes, "picture", kSmallPictures);
});

}  // namespace
}  // namespace deepvoro::fuzz
