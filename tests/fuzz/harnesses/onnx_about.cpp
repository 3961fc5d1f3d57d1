#include "deepvoro/backbone/onnx.hpp"
#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness onnx_about_harness("onnx_about", [](Bytes bytes) {
  const auto about = file_with(bytes, "network.about.json");
  (void)onnx_options_of(about.parent_path() / "network.onnx");
});

}  // namespace
}  // namespace deepvoro::fuzz
