#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/backbone/onnx.hpp"
#include "native/native_backbone.hpp"

namespace deepvoro {

std::unique_ptr<Backbone> open_network(const std::filesystem::path& model,
                                       const ComputeOptions& options) {
  if (is_onnx(model)) return open_onnx(model, onnx_options_of(model), options);
  if (options.device == "cpu" && !is_torchscript(model)) return open_native(model, options.threads);
  return backbone_library().open(model, options);
}

}  // namespace deepvoro
