#include "optimiser.hpp"

#include <cmath>
#include <utility>

namespace deepvoro {
namespace {

constexpr double kMomentum = 0.9;
constexpr double kSquareMomentum = 0.999;
constexpr double kTiny = 1e-8;

}  // namespace

Optimiser::Optimiser(std::vector<NamedTensor> parameters, OptimiserKind kind, double weight_decay)
    : parameters_(std::move(parameters)),
      kind_(kind),
      weight_decay_(weight_decay),
      steps_(torch::zeros({1})) {
  std::erase_if(parameters_, [](const NamedTensor& entry) { return !entry.is_parameter; });
  for (const NamedTensor& entry : parameters_) {
    momenta_.push_back(torch::zeros_like(*entry.tensor));
    if (kind == OptimiserKind::adam) squares_.push_back(torch::zeros_like(*entry.tensor));
  }
}

void Optimiser::step(double rate) {
  const torch::NoGradGuard no_gradients;
  steps_ += 1;
  const double steps = steps_.item<double>();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    torch::Tensor& parameter = *parameters_[i].tensor;
    torch::Tensor gradient = parameter.grad();
    if (!gradient.defined()) continue;
    // Shifts and scales of normalisations are left to themselves.
    const double decay = parameter.dim() > 1 ? weight_decay_ : 0;
    torch::Tensor& momentum = momenta_[i];
    if (kind_ == OptimiserKind::sgd) {
      gradient.add_(parameter, decay);
      momentum.mul_(kMomentum).add_(gradient);
      parameter.add_(gradient.add_(momentum, kMomentum), -rate);
    } else {
      momentum.mul_(kMomentum).add_(gradient, 1 - kMomentum);
      squares_[i].mul_(kSquareMomentum).addcmul_(gradient, gradient, 1 - kSquareMomentum);
      const double scale = 1 - std::pow(kMomentum, steps);
      const double square_scale = std::sqrt(1 - std::pow(kSquareMomentum, steps));
      parameter.mul_(1 - rate * decay);
      parameter.addcdiv_(momentum, (squares_[i].sqrt() / square_scale).add_(kTiny), -rate / scale);
    }
    parameter.mutable_grad() = torch::Tensor();
  }
}

std::vector<NamedTensor> Optimiser::state() {
  std::vector<NamedTensor> state{{"optimiser.steps", &steps_, false}};
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    state.push_back({"optimiser.momentum." + parameters_[i].name, &momenta_[i], false});
    if (kind_ == OptimiserKind::adam)
      state.push_back({"optimiser.square." + parameters_[i].name, &squares_[i], false});
  }
  return state;
}

}  // namespace deepvoro
