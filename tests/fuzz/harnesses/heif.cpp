#include "fuzz/harness.hpp"
#include "fuzz/small_pictures.hpp"
#include "picture/formats.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness heif_harness("heif", [](Bytes bytes) {
  (void)decode_heif(bytes, "picture", kSmallPictures);
});

}  // namespace
}  // namespace deepvoro::fuzz
