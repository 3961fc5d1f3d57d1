#include "weight_average.hpp"

#include <algorithm>

namespace deepvoro {

WeightAverage::WeightAverage(const Network& trained, const Architecture& architecture, double kept)
    : trained_(trained), network_(architecture, Network::Weights::absent), kept_(kept) {
  const auto& from = trained.tensors();
  for (std::size_t i = 0; i < from.size(); ++i)
    *network_.tensors()[i].tensor = from[i].tensor->detach().clone();
}

void WeightAverage::add(std::size_t step) {
  const torch::NoGradGuard no_gradients;
  const double kept =
      std::min(kept_, static_cast<double>(1 + step) / static_cast<double>(10 + step));
  // All tensors at once, as in a step of the optimiser.
  std::vector<torch::Tensor> averages;
  std::vector<torch::Tensor> weights;
  for (std::size_t i = 0; i < network_.tensors().size(); ++i) {
    if (!network_.tensors()[i].is_parameter) continue;
    averages.push_back(*network_.tensors()[i].tensor);
    weights.push_back(*trained_.tensors()[i].tensor);
  }
  torch::_foreach_mul_(averages, kept);
  torch::_foreach_add_(averages, weights, 1 - kept);
}

std::vector<NamedTensor> WeightAverage::state() const {
  std::vector<NamedTensor> state;
  for (const NamedTensor& entry : network_.tensors())
    state.push_back({"average." + entry.name, entry.tensor, false});
  return state;
}

}  // namespace deepvoro
