#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>

#include "backbone/network_plan.hpp"
#include "normalisation.hpp"

namespace deepvoro {

// A convolution, mostly followed by a normalisation and an activation.
struct Convolution {
  torch::Tensor weight;
  torch::Tensor bias;
  std::optional<Statistics> norm;
  Activation activation = Activation::none;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;

  // `added`, if there is any, comes before the activation.
  [[nodiscard]] torch::Tensor apply(const torch::Tensor& x, const torch::Tensor& added = {}) const;

  // For inference: multiplies the normalisation into the weights, which are then kept as they are
  // used for pictures of a type.
  void fold();
  void convert(torch::ScalarType type);

 private:
  [[nodiscard]] bool runs_in_one_pass(const torch::Tensor& x) const;
  [[nodiscard]] torch::Tensor apply_in_one_pass(const torch::Tensor& x,
                                                const torch::Tensor& added) const;
};

}  // namespace deepvoro
