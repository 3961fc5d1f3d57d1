#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "normalisation.hpp"
#include "winograd.hpp"

namespace deepvoro {

enum class Activation { none, relu, leaky };

// A convolution, mostly followed by a normalisation and an activation.
struct Convolution {
  torch::Tensor weight;
  torch::Tensor bias;
  std::optional<Statistics> norm;
  Activation activation = Activation::none;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;
  std::unique_ptr<Winograd> winograd;  // once it is prepared, where there is a quicker way

  // `added`, if there is any, comes before the activation.
  [[nodiscard]] torch::Tensor apply(const torch::Tensor& x, const torch::Tensor& added = {}) const;

  // As apply, without an activation: the sum is left to whoever needs it, where it would take a
  // pass of its own.
  [[nodiscard]] Sum apply_without_adding(const torch::Tensor& x, const torch::Tensor& added) const;

  // For inference: multiplies the normalisation into the weights, which are then kept as they will
  // be used for pictures of a type.
  void fold();
  void prepare(torch::ScalarType type);

 private:
  [[nodiscard]] bool runs_in_one_pass(const torch::Tensor& x) const;
  [[nodiscard]] torch::Tensor apply_in_one_pass(const torch::Tensor& x,
                                                const torch::Tensor& added) const;
  [[nodiscard]] torch::Tensor apply_winograd(const torch::Tensor& x,
                                             const torch::Tensor& added) const;
};

}  // namespace deepvoro
