#include "network_file.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace deepvoro {

void read_tensors(const ModelFile& file, const std::vector<NamedTensor>& tensors) {
  for (const NamedTensor& entry : tensors) {
    const std::vector<std::int64_t> shape = entry.tensor->sizes().vec();
    const auto values = std::make_shared<std::vector<float>>(file.values(entry.name, shape));
    const auto kept_with_tensor = [values](void*) {};
    *entry.tensor = torch::from_blob(values->data(), shape, kept_with_tensor, torch::kFloat32)
                        .set_requires_grad(entry.is_parameter);
  }
}

LoadedNetwork read_network(const std::filesystem::path& file) {
  const ModelFile model(file);
  auto network =
      std::make_unique<Network>(model.description().architecture, Network::Weights::absent);
  read_tensors(model, network->tensors());
  return {model.description(), std::move(network)};
}

void write_network(const std::filesystem::path& file, const ModelDescription& description,
                   const std::vector<NamedTensor>& tensors, WeightType type,
                   const std::map<std::string, std::string>& metadata) {
  std::vector<torch::Tensor> kept;
  std::vector<FloatTensor> out;
  for (const NamedTensor& entry : tensors) {
    const torch::Tensor& values =
        kept.emplace_back(entry.tensor->detach().to(torch::kCPU, torch::kFloat32).contiguous());
    const auto sizes = values.sizes();
    out.push_back({entry.name,
                   {sizes.begin(), sizes.end()},
                   {values.data_ptr<float>(), static_cast<std::size_t>(values.numel())}});
  }
  write_model_file(file, description, out, type, metadata);
}

}  // namespace deepvoro
