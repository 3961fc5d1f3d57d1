#include <stdexcept>

#include "fuzz/harness.hpp"
#include "picture/formats.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness exif_harness("exif", [](Bytes bytes) {
  const int orientation = exif_orientation(bytes);
  if (orientation < 1 || orientation > 8) throw std::logic_error("no orientation");
});

}  // namespace
}  // namespace deepvoro::fuzz
