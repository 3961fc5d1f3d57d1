#include "fuzz/harness.hpp"
#include "fuzz/small_pictures.hpp"
#include "picture/collection.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness csv_harness("csv", [](Bytes bytes) {
  const PictureCollection pictures = PictureCollection::open(file_with(bytes, "list.csv"));
  (void)pictures.notes();
  for (std::size_t i = 0; i < pictures.size(); ++i) (void)pictures.stored_size(i);
  (void)pictures.read(0, kSmallPictures);
});

}  // namespace
}  // namespace deepvoro::fuzz
