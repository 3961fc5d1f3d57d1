#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "deepvoro/classifier/backbone_statistics.hpp"

namespace deepvoro {

// Samples of known classes, represented with the usual exponent.
struct RepresentedSamples {
  std::size_t dim = 0;
  std::vector<std::vector<std::size_t>> by_class;
  std::function<void(std::size_t sample, double* out)> read;  // padded(dim) elements
};

// The temperature that suits one sample of each class, measured in 40 draws of up to ten of the
// classes: RandomState(draw), a permutation of the classes that have several samples, then one of
// the samples of each, the first of them the support and up to five more queries. Classes that a
// network was trained on look easier than others, so it is not below the usual one.
[[nodiscard]] double measured_temperature(const RepresentedSamples& samples,
                                          const BackboneStatistics& statistics);

}  // namespace deepvoro
