#include "fuzz/harness.hpp"
#include "fuzz/small_pictures.hpp"
#include "picture/formats.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness tiff_harness("tiff", [](Bytes bytes) {
  (void)decode_tiff(bytes, "picture", kSmallPictures);
});

}  // namespace
}  // namespace deepvoro::fuzz
