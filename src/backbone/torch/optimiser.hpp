#pragma once

#include <torch/types.h>

#include <cstddef>
#include <vector>

#include "deepvoro/backbone/training.hpp"
#include "network.hpp"

namespace deepvoro {

// Stochastic gradient descent with Nesterov's momentum, or Adam with decoupled weight decay. Refers
// to the parameters. Its state has names, so that it can be kept in a file with them.
class Optimiser {
 public:
  Optimiser(std::vector<NamedTensor> parameters, OptimiserKind kind, double weight_decay);

  // One step along the gradients, which are gone afterwards.
  void step(double rate);

  [[nodiscard]] std::vector<NamedTensor> state();

 private:
  std::vector<NamedTensor> parameters_;
  OptimiserKind kind_;
  double weight_decay_;
  std::vector<torch::Tensor> momenta_;
  std::vector<torch::Tensor> squares_;  // of Adam
  torch::Tensor steps_;
};

}  // namespace deepvoro
