#pragma once

#include <cstdint>

// For nvcc, which need not see LibTorch.
namespace deepvoro {

// All in the memory of the device, without gaps.
template <class Real>
struct EpisodeDistances {
  const Real* rows;             // [samples, dim]
  const Real* centers;          // [episodes, ways, dim]
  const std::int64_t* queries;  // [episodes, queries], indices of rows
  Real* out;                    // [episodes, ways, queries]
  std::int64_t dim;
  std::int64_t episode_count;
  std::int64_t way_count;
  std::int64_t query_count;
};

// Puts the work on the default stream. What went wrong, or nullptr.
const char* launch_episode_distances(const EpisodeDistances<float>& task);
const char* launch_episode_distances(const EpisodeDistances<double>& task);

}  // namespace deepvoro
