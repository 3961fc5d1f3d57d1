#include "deepvoro/features/store.hpp"

#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

// A file of features as a store has it, which is used where it lies.
const Harness store_rows_harness("store_rows", [](Bytes bytes) {
  const FeatureRows rows(file_with(bytes, "view.npy"), 3, 4);
  std::vector<float> row(4);
  for (std::size_t r = 0; r < 3; ++r) rows.copy_row(r, row);
});

}  // namespace
}  // namespace deepvoro::fuzz
