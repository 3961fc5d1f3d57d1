#pragma once

#include <cstddef>

namespace deepvoro {

enum class LogisticKind {
  power,    // W and b are free: a Power diagram
  voronoi,  // b_k = -|W_k|^2/4 in every iteration: a Voronoi diagram with centers W_k/2
};

inline constexpr std::size_t kDefaultLogisticEpochs = 20;

}  // namespace deepvoro
