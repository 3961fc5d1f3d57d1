#pragma once

#include <cstddef>

namespace deepvoro {

enum class LogisticKind {
  power,    // W and b are free: a Power diagram
  voronoi,  // b_k = -|W_k|^2/4 in every iteration: a Voronoi diagram with centers W_k/2
};

enum class LogisticStart {
  prototypes,  // the Voronoi diagram of the class means c_k: W_k = 2 c_k, b_k = -|c_k|^2
  random,      // W, and b where it is free, uniform in +-1/sqrt(dim), by the seed of the episodes
};

// Of a logistic regression on the support.
struct LogisticOptions {
  static constexpr std::size_t kDefaultEpochs = 20;

  LogisticKind kind = LogisticKind::voronoi;
  std::size_t epochs = kDefaultEpochs;
  double weight_decay = 0;
  LogisticStart start = LogisticStart::prototypes;
  bool sigmoid = false;  // between logits and softmax while training
};

}  // namespace deepvoro
