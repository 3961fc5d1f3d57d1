#pragma once

#include <torch/types.h>

#include <cstdint>

namespace deepvoro {

inline constexpr std::int64_t kTurns = 4;

// Pictures [n, 3, size, size] turned counterclockwise by quarters, their classes and turns [n].
struct Turned {
  torch::Tensor pictures;
  torch::Tensor labels;
  torch::Tensor turns;
};

// Every picture by a random quarter.
[[nodiscard]] Turned turned_at_random(const torch::Tensor& pictures, const torch::Tensor& labels);

// The first quarter of the pictures, each in all four ways, as many as there were.
[[nodiscard]] Turned turned_in_all_ways(const torch::Tensor& pictures, const torch::Tensor& labels);

}  // namespace deepvoro
