#include "backbone/install/tfjs_model.hpp"

#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

const Harness tfjs_model_harness("tfjs_model", [](Bytes bytes) {
  const TfjsModel model(text_of(bytes), "model.json");
  (void)model.weight("a", 1);
  (void)model.epsilon("n");
});

}  // namespace
}  // namespace deepvoro::fuzz
