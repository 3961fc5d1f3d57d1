#pragma once

#include <torch/types.h>

#include <cstddef>
#include <vector>

#include "network.hpp"

namespace deepvoro {

// A second network whose weights are an exponential moving average of those of one in training.
// Its statistics are left to whoever uses it. Refers to the network in training.
class WeightAverage {
 public:
  // Each step keeps the share `kept` of the average, and less at first, when there is little to
  // keep.
  WeightAverage(const Network& trained, const Architecture& architecture, double kept);

  void add(std::size_t step);  // from 0

  [[nodiscard]] Network& network() { return network_; }

  // Names of weights and statistics are those of the network after "average.".
  [[nodiscard]] std::vector<NamedTensor> state() const;

 private:
  const Network& trained_;
  Network network_;
  double kept_;
};

}  // namespace deepvoro
