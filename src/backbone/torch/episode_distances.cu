#include "episode_distances_kernel.hpp"

namespace deepvoro {
namespace {

constexpr int kLanes = 32;
constexpr int kWarpsPerBlock = 4;
// Pairs of a warp, whose sums fit into registers.
constexpr int kWays = 5;
constexpr int kQueries = 3;

__host__ __device__ std::int64_t tiles(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

__device__ std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

template <class Real>
__device__ Real sum_over_lanes(Real value) {
  for (int distance = kLanes / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffU, value, distance);
  return value;
}

// Values that are read together.
template <class Real, int kWidth>
struct alignas(kWidth * sizeof(Real)) Values {
  Real at[kWidth];
};

template <int kWidth, class Real>
__device__ Values<Real, kWidth> values_at(const Real* place) {
  return *reinterpret_cast<const Values<Real, kWidth>*>(place);
}

// A warp measures a few queries of an episode from a few of its centers. kWidth divides dim.
template <int kWidth, class Real>
__global__ void measure(EpisodeDistances<Real> task) {
  const std::int64_t warp =
      static_cast<std::int64_t>(blockIdx.x) * kWarpsPerBlock + threadIdx.x / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t way_tiles = tiles(task.way_count, kWays);
  const std::int64_t query_tiles = tiles(task.query_count, kQueries);
  const std::int64_t episode = warp / (way_tiles * query_tiles);
  if (episode >= task.episode_count) return;
  const std::int64_t first_way = warp % way_tiles * kWays;
  const std::int64_t first_query = warp / way_tiles % query_tiles * kQueries;

  // Behind the last one the last is measured again.
  const Real* centers[kWays];
  const Real* rows[kQueries];
  for (int k = 0; k < kWays; ++k) {
    const std::int64_t way = smaller(first_way + k, task.way_count - 1);
    centers[k] = task.centers + (episode * task.way_count + way) * task.dim;
  }
  for (int q = 0; q < kQueries; ++q) {
    const std::int64_t query = smaller(first_query + q, task.query_count - 1);
    rows[q] = task.rows + task.queries[episode * task.query_count + query] * task.dim;
  }

  Real squared[kWays][kQueries] = {};
  const int dim = static_cast<int>(task.dim);
  for (int i = lane * kWidth; i < dim; i += kLanes * kWidth) {
    Values<Real, kWidth> of_queries[kQueries];
    Values<Real, kWidth> of_centers[kWays];
    for (int q = 0; q < kQueries; ++q) of_queries[q] = values_at<kWidth>(rows[q] + i);
    for (int k = 0; k < kWays; ++k) of_centers[k] = values_at<kWidth>(centers[k] + i);
    for (int k = 0; k < kWays; ++k)
      for (int q = 0; q < kQueries; ++q)
        for (int v = 0; v < kWidth; ++v) {
          const Real difference = of_queries[q].at[v] - of_centers[k].at[v];
          squared[k][q] += difference * difference;
        }
  }
  for (int k = 0; k < kWays; ++k)
    for (int q = 0; q < kQueries; ++q) {
      const Real sum = sum_over_lanes(squared[k][q]);
      const std::int64_t way = first_way + k;
      const std::int64_t query = first_query + q;
      if (lane == 0 && way < task.way_count && query < task.query_count)
        task.out[(episode * task.way_count + way) * task.query_count + query] = sqrt(sum);
    }
}

template <class Real>
const char* launch(const EpisodeDistances<Real>& task) {
  constexpr int bytes_at_once = 16;
  constexpr int width = bytes_at_once / sizeof(Real);
  const std::int64_t warps =
      task.episode_count * tiles(task.way_count, kWays) * tiles(task.query_count, kQueries);
  if (warps == 0) return nullptr;
  const auto kernel = task.dim % width == 0 ? measure<width, Real> : measure<1, Real>;
  kernel<<<static_cast<unsigned>(tiles(warps, kWarpsPerBlock)), kWarpsPerBlock * kLanes>>>(task);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace

const char* launch_episode_distances(const EpisodeDistances<float>& task) {
  return launch(task);
}
const char* launch_episode_distances(const EpisodeDistances<double>& task) {
  return launch(task);
}

}  // namespace deepvoro
