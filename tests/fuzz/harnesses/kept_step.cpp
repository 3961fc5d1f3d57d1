#include "study/paper/kept_steps.hpp"

#include "core/sha256.hpp"
#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness kept_step_harness("kept_step", [](Bytes bytes) {
  const nlohmann::json key = {{"seed", 0}};
  const auto file = file_with(bytes, "steps/" + sha256_hex(key.dump()) + ".json");
  (void)KeptSteps(file.parent_path()).find(key);
});

}  // namespace
}  // namespace deepvoro::fuzz
