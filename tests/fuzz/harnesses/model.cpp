#include "backbone/model_file.hpp"
#include "fuzz/harness.hpp"

namespace deepvoro::fuzz {
namespace {

// Models, and what a training that was interrupted left.
const Harness model_harness("model", [](Bytes bytes) {
  const ModelFile model(file_with(bytes, "model.safetensors"));
  (void)description_json(model.description());
  for (const std::string& name : model.tensors().names()) {
    const LoadedArray loaded = model.tensors().load(name);
    std::vector<std::int64_t> shape;
    for (const std::uint64_t size : loaded.array.shape)
      shape.push_back(static_cast<std::int64_t>(size));
    (void)model.values(name, shape);
  }
});

}  // namespace
}  // namespace deepvoro::fuzz
