#include "fuzz/harness.hpp"
#include "fuzz/small_pictures.hpp"
#include "picture/formats.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness jpeg_harness("jpeg", [](Bytes bytes) {
  const bool is_reduced = bytes.size() % 2 == 1;  // so that one corpus serves both
  (void)decode_jpeg(bytes, "picture", kSmallPictures, is_reduced ? 4 : kAllPixels);
});

}  // namespace
}  // namespace deepvoro::fuzz
