#include "deepvoro/study/compare.hpp"

#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness results_harness("results", [](Bytes bytes) {
  (void)compare_within(file_with(bytes, "result.json"));
});

}  // namespace
}  // namespace deepvoro::fuzz
