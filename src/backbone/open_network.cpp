#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/backbone/onnx.hpp"

namespace deepvoro {

std::unique_ptr<Backbone> open_network(const std::filesystem::path& model,
                                       const ComputeOptions& options) {
  if (is_onnx(model)) return open_onnx(model, onnx_options_of(model), options);
  return backbone_library().open(model, options);
}

}  // namespace deepvoro
