#include "features/formats/feature_table.hpp"
#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness npz_harness("npz", [](Bytes bytes) {
  const auto file = file_with(bytes, "features.npz");
  (void)read_feature_table(file, {});
});

}  // namespace
}  // namespace deepvoro::fuzz
