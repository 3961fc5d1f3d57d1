#pragma once

#include <torch/types.h>

namespace deepvoro {

// Distances of the queries of each episode from its centers, by differences: [episodes, ways,
// queries]. rows: [samples, dim]; centers: [episodes, ways, dim]; queries: [episodes, queries],
// indices of rows.
[[nodiscard]] torch::Tensor episode_distances(const torch::Tensor& rows,
                                              const torch::Tensor& centers,
                                              const torch::Tensor& queries);

}  // namespace deepvoro
