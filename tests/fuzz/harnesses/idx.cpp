#include <algorithm>

#include "fuzz/harness.hpp"
#include "picture/collection.hpp"

namespace deepvoro::fuzz {
namespace {

// The first byte says how many of the last ones are the file of labels.
const Harness idx_harness("idx", [](Bytes bytes) {
  if (bytes.empty()) return;
  const Bytes both = bytes.subspan(1);
  const std::size_t labels = std::min(std::to_integer<std::size_t>(bytes[0]), both.size());
  (void)file_with(both.last(labels), "labels-idx1-ubyte");
  const PictureCollection pictures =
      PictureCollection::open(file_with(both.first(both.size() - labels), "images-idx3-ubyte"));
  for (std::size_t i = 0; i < pictures.size(); ++i) (void)pictures.read(i);
});

}  // namespace
}  // namespace deepvoro::fuzz
