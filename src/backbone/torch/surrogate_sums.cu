#include "surrogate_sums_kernel.hpp"

namespace deepvoro {
namespace {

constexpr int kThreads = 64;

// Whether an item comes first by its key, or by its index where keys are equal.
template <class Key>
__device__ bool precedes(const Key* keys, int a, int b) {
  return keys[a] < keys[b] || (keys[a] == keys[b] && a < b);
}

template <class Key>
__device__ int place_of(const Key* keys, int item, int count) {
  int place = 0;
  for (int other = 0; other < count; ++other) place += precedes(keys, other, item) ? 1 : 0;
  return place;
}

// A block for each episode.
__global__ void choose_sets(SurrogateSums task) {
  extern __shared__ double distances[];  // of a center from the base classes
  int* joins_at = reinterpret_cast<int*>(distances + task.base_count);
  const int bases = task.base_count;
  const auto episode = static_cast<std::int64_t>(blockIdx.x);
  const int first = static_cast<int>(threadIdx.x);
  const int step = static_cast<int>(blockDim.x);
  for (int b = first; b < bases; b += step) joins_at[b] = bases;
  for (int way = 0; way < task.way_count; ++way) {
    const double* of_center = task.center_to_base + (episode * task.way_count + way) * bases;
    for (int b = first; b < bases; b += step) distances[b] = of_center[b];
    __syncthreads();
    for (int b = first; b < bases; b += step) {
      const int place = place_of(distances, b, bases);
      if (place < joins_at[b]) joins_at[b] = place;
    }
    __syncthreads();
  }
  for (int b = first; b < bases; b += step)
    task.joined[episode * bases + place_of(joins_at, b, bases)] = b;
  for (int level = first; level < task.level_count; level += step) {
    int size = 0;
    for (int b = 0; b < bases; ++b) size += joins_at[b] <= level ? 1 : 0;
    task.set_sizes[episode * task.level_count + level] = size;
  }
}

// A thread for each query, with sums for each way that only it sees.
__global__ void add_terms(SurrogateSums task, SurrogateTerms terms) {
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int query = static_cast<int>(blockIdx.y) * threads + thread;
  if (query >= task.query_count) return;
  const auto episode = static_cast<std::int64_t>(blockIdx.x);
  const int ways = task.way_count;
  const int bases = task.base_count;
  extern __shared__ double memory[];
  double* squared = memory + thread;  // of way k at k * threads
  double* total = squared + ways * threads;
  const std::int64_t sample = task.queries[episode * task.query_count + query];
  const double* of_query = task.sample_to_base + sample * bases;
  const double* of_centers = task.center_to_base + episode * ways * bases;
  const double* distances = task.distances + episode * ways * task.query_count + query;
  const int* joined = task.joined + episode * bases;
  const int* set_sizes = task.set_sizes + episode * task.level_count;

  double sum = 0;
  for (int k = 0; k < ways; ++k) {
    sum += distances[k * task.query_count];
    squared[k * threads] = 0;
    total[k * threads] = 0;
  }
  const double scale = sum > 0 ? 1 / sum : 0;
  int in_set = 0;
  for (int t = 0; t < terms.count; ++t) {
    const SurrogateTerm& term = terms.at[t];
    const auto level = static_cast<int>(term.R < task.level_count ? term.R : task.level_count);
    for (const int size = set_sizes[level - 1]; in_set < size; ++in_set) {
      const int base = joined[in_set];
      const double to_base = of_query[base];
      for (int k = 0; k < ways; ++k) {
        const double difference = to_base - of_centers[k * bases + base];
        squared[k * threads] += difference * difference;
      }
    }
    double surrogate_sum = 0;
    for (int k = 0; k < ways; ++k) surrogate_sum += sqrt(squared[k * threads]);
    const double surrogate_scale = surrogate_sum > 0 ? term.gamma / surrogate_sum : 0;
    for (int k = 0; k < ways; ++k) {
      const double value = term.weight * (term.beta * distances[k * task.query_count] * scale +
                                          surrogate_scale * sqrt(squared[k * threads]));
      total[k * threads] += task.alpha == 1 ? value : pow(value, task.alpha);
    }
  }
  double* sums = task.sums + episode * ways * task.query_count + query;
  for (int k = 0; k < ways; ++k) sums[k * task.query_count] += total[k * threads];
}

const char* last_error() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace

const char* launch_surrogate_sets(const SurrogateSums& task) {
  const std::size_t bytes = task.base_count * (sizeof(double) + sizeof(int));
  choose_sets<<<task.episode_count, kThreads, bytes>>>(task);
  return last_error();
}

const char* launch_surrogate_sums(const SurrogateSums& task, const SurrogateTerms& terms) {
  constexpr std::size_t most_bytes = std::size_t{48} << 10U;
  int threads = kThreads;
  const auto bytes = [&] { return 2 * sizeof(double) * task.way_count * threads; };
  while (threads > 1 && bytes() > most_bytes) threads /= 2;
  const dim3 blocks(static_cast<unsigned>(task.episode_count),
                    static_cast<unsigned>((task.query_count + threads - 1) / threads));
  add_terms<<<blocks, threads, bytes()>>>(task, terms);
  return last_error();
}

}  // namespace deepvoro
