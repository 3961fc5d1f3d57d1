#include "backbone/install/tfjs_package.hpp"
#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness tfjs_harness("tfjs", [](Bytes bytes) {
  (void)read_tfjs_package(file_with(bytes, "package.tgz"), "ResNet50");
});

}  // namespace
}  // namespace deepvoro::fuzz
