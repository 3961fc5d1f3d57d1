#include "features/formats/feature_table.hpp"
#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness safetensors_harness("safetensors", [](Bytes bytes) {
  const auto file = file_with(bytes, "features.safetensors");
  (void)read_feature_table(file, {});
});

}  // namespace
}  // namespace deepvoro::fuzz
