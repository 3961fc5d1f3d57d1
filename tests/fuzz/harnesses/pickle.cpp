#include "features/formats/feature_table.hpp"
#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness pickle_harness("pickle", [](Bytes bytes) {
  const auto file = file_with(bytes, "features.pkl");
  (void)read_feature_table(file, {});
});

}  // namespace
}  // namespace deepvoro::fuzz
