#pragma once

#include <torch/types.h>

#include <vector>

#include "surrogate_sums_kernel.hpp"

namespace deepvoro {

// Distances of a few episodes, in double but for the first.
struct SurrogateEpisodes {
  torch::Tensor distances;       // of queries from centers, [episodes, ways, queries]
  torch::Tensor center_to_base;  // [episodes, ways, base classes]
  torch::Tensor sample_to_base;  // [samples, base classes]
  torch::Tensor queries;         // [episodes, queries], indices of samples
};

// Adds surrogate members, raised to alpha, to sums: [episodes, ways, queries], in double. Of
// equally near base classes the first is ahead.
void add_surrogates(const SurrogateEpisodes& episodes, std::vector<SurrogateTerm> terms,
                    double alpha, torch::Tensor sums);

}  // namespace deepvoro
