#include <array>

#include "fuzz/harness.hpp"
#include "report/inputs.hpp"

namespace deepvoro::fuzz {
namespace {

// Results and studies.
const Harness report_input_harness("report_input", [](Bytes bytes) {
  const std::array files{file_with(bytes, "result.json")};
  (void)read_inputs(files);
});

}  // namespace
}  // namespace deepvoro::fuzz
