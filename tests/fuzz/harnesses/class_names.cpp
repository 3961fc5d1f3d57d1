#include "features/formats/class_names.hpp"

#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness class_names_harness("class_names", [](Bytes bytes) {
  (void)read_class_names(file_with(bytes, "names.txt"));
});

}  // namespace
}  // namespace deepvoro::fuzz
