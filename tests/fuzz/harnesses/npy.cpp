#include "features/formats/feature_table.hpp"
#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness npy_harness("npy", [](Bytes bytes) {
  const auto file = file_with(bytes, "features.npy");
  (void)read_feature_table(file, {});
});

}  // namespace
}  // namespace deepvoro::fuzz
