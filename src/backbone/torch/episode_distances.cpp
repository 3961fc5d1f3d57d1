#include "episode_distances.hpp"

#ifdef DEEPVORO_CUDA
#include "episode_distances_kernel.hpp"
#endif

namespace deepvoro {
namespace {

#ifdef DEEPVORO_CUDA
template <class Real>
torch::Tensor by_kernel(const torch::Tensor& rows, const torch::Tensor& centers,
                        const torch::Tensor& queries) {
  torch::Tensor out =
      torch::empty({centers.size(0), centers.size(1), queries.size(1)}, rows.options());
  const char* failure =
      launch_episode_distances(EpisodeDistances<Real>{.rows = rows.data_ptr<Real>(),
                                                      .centers = centers.data_ptr<Real>(),
                                                      .queries = queries.data_ptr<std::int64_t>(),
                                                      .out = out.data_ptr<Real>(),
                                                      .dim = rows.size(1),
                                                      .episode_count = centers.size(0),
                                                      .way_count = centers.size(1),
                                                      .query_count = queries.size(1)});
  TORCH_CHECK(failure == nullptr, "CUDA: ", failure);
  return out;
}
#endif

}  // namespace

torch::Tensor episode_distances(const torch::Tensor& rows, const torch::Tensor& centers,
                                const torch::Tensor& queries) {
#ifdef DEEPVORO_CUDA
  if (rows.is_cuda() && rows.scalar_type() == torch::kFloat32)
    return by_kernel<float>(rows.contiguous(), centers.contiguous(), queries.contiguous());
  if (rows.is_cuda())
    return by_kernel<double>(rows.contiguous(), centers.contiguous(), queries.contiguous());
#endif
  const torch::Tensor of_queries = rows.index_select(0, queries.reshape({-1}))
                                       .view({queries.size(0), queries.size(1), rows.size(1)});
  constexpr std::int64_t by_differences = 2;
  return torch::cdist(centers, of_queries, 2, by_differences);
}

}  // namespace deepvoro
