#include "fuzz/harness.hpp"
#include "fuzz/small_pictures.hpp"
#include "picture/formats.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness jpeg_harness("jpeg", [](Bytes bytes) {
  (void)decode_jpeg(bytes, "picture", kSmallPictures);
});

}  // namespace
}  // namespace deepvoro::fuzz
