#include "deepvoro/features/store.hpp"

#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness store_harness("store", [](Bytes bytes) {
  const auto file = file_with(bytes, "store/store.json");
  const FeatureStore store(file.parent_path());
  (void)store.provenance_json();
  (void)store.model_sha256();
});

}  // namespace
}  // namespace deepvoro::fuzz
