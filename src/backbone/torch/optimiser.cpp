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
  // All tensors at once: on CUDA a step is a few kernels then instead of hundreds.
  std::vector<torch::Tensor> parameters;
  std::vector<torch::Tensor> gradients;
  std::vector<torch::Tensor> momenta;
  std::vector<torch::Tensor> squares;
  // Shifts and scales of normalisations are left to themselves.
  std::vector<torch::Tensor> decayed;
  std::vector<torch::Tensor> decayed_gradients;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    torch::Tensor& parameter = *parameters_[i].tensor;
    const torch::Tensor gradient = parameter.grad();
    if (!gradient.defined()) continue;
    parameters.push_back(parameter);
    gradients.push_back(gradient);
    momenta.push_back(momenta_[i]);
    if (kind_ == OptimiserKind::adam) squares.push_back(squares_[i]);
    if (parameter.dim() > 1) {
      decayed.push_back(parameter);
      decayed_gradients.push_back(gradient);
    }
    parameter.mutable_grad() = torch::Tensor();
  }
  if (kind_ == OptimiserKind::sgd) {
    torch::_foreach_add_(decayed_gradients, decayed, weight_decay_);
    torch::_foreach_mul_(momenta, kMomentum);
    torch::_foreach_add_(momenta, gradients);
    torch::_foreach_add_(gradients, momenta, kMomentum);
    torch::_foreach_add_(parameters, gradients, -rate);
    return;
  }
  const double steps = steps_.item<double>();
  const double scale = 1 - std::pow(kMomentum, steps);
  const double square_scale = std::sqrt(1 - std::pow(kSquareMomentum, steps));
  torch::_foreach_mul_(momenta, kMomentum);
  torch::_foreach_add_(momenta, gradients, 1 - kMomentum);
  torch::_foreach_mul_(squares, kSquareMomentum);
  torch::_foreach_addcmul_(squares, gradients, gradients, 1 - kSquareMomentum);
  std::vector<torch::Tensor> sizes = torch::_foreach_sqrt(squares);
  torch::_foreach_div_(sizes, square_scale);
  torch::_foreach_add_(sizes, kTiny);
  torch::_foreach_mul_(decayed, 1 - rate * weight_decay_);
  torch::_foreach_addcdiv_(parameters, momenta, sizes, -rate / scale);
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
