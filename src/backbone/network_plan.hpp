#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "deepvoro/backbone/architecture.hpp"

namespace deepvoro {

enum class Activation { none, relu, leaky };

// What values below 0 are multiplied by.
[[nodiscard]] float slope(Activation activation);

struct PlannedConvolution {
  std::string name;
  std::string norm;  // name of the normalisation after it; empty: none
  std::size_t in = 0;
  std::size_t out = 0;
  std::size_t kernel = 3;  // with a padding of half of it
  std::size_t stride = 1;
  std::size_t groups = 1;
  bool bias = false;
  Activation activation = Activation::relu;
  bool after_dropout = false;  // some of what it is fed is left out in training
};

// Normalisation and activation before a convolution, as wide and dense networks have them.
struct PlannedRectifier {
  std::string name;
  std::size_t channels = 0;
};

using PlannedUnit = std::variant<PlannedConvolution, PlannedRectifier>;

struct PlannedPool {
  std::size_t side = 2;
  std::size_t stride = 2;
  std::size_t padding = 0;
};

// Values are numbered: 0 is what the network is fed, and step i makes value i + 1.
struct PlannedStep {
  enum class Kind { convolution, rectifier, max_pool, average_pool, concatenation };

  Kind kind;
  std::size_t x;                     // the value that it takes
  std::optional<std::size_t> other;  // added before the activation, or concatenated
  std::size_t unit = 0;              // of a convolution or rectifier
  PlannedPool pool = {};
  std::vector<std::size_t> last_of = {};  // values that no later step takes
};

// What a network computes, step by step. The mean of the last value over all places are its
// features, or what a linear map makes of it, which is called "embedding". Names of tensors are
// those that are usual in PyTorch.
struct NetworkPlan {
  std::vector<PlannedUnit> units;  // in the order of their tensors
  std::vector<PlannedStep> steps;
  std::vector<std::size_t> stages;  // the first step of each
  std::size_t channels = 0;         // of the last value
  std::size_t embedding = 0;        // dimensions of the linear map; 0: none

  [[nodiscard]] std::size_t dim() const { return embedding > 0 ? embedding : channels; }
};

// A usage error when there is no such network.
[[nodiscard]] NetworkPlan plan_of(const Architecture& architecture);

}  // namespace deepvoro
