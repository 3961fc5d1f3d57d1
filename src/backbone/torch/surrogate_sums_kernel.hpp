#pragma once

#include <cstdint>

// For nvcc, which need not see LibTorch.
namespace deepvoro {

// A surrogate member, with weight * (beta * d/|d|_1 + gamma * d''/|d''|_1), where d'' is over the R
// base classes nearest to each center.
struct SurrogateTerm {
  std::int64_t R;
  double beta;
  double gamma;
  double weight;
};

// All arrays in the memory of the device, without gaps.
struct SurrogateSums {
  const double* distances;       // of queries from centers, [episodes, ways, queries]
  const double* center_to_base;  // [episodes, ways, bases]
  const double* sample_to_base;  // [samples, bases]
  const std::int64_t* queries;   // [episodes, queries], indices of samples
  double* sums;                  // [episodes, ways, queries], to which is added
  int* joined;                   // scratch, [episodes, bases]
  int* set_sizes;                // scratch, [episodes, levels]
  int episode_count;
  int way_count;
  int query_count;
  int base_count;
  int level_count;  // the largest R, or the number of base classes if that is smaller
  double alpha;     // members are raised to it before they are added

  static constexpr int kMostBases = 4096;
  static constexpr int kMostTerms = 64;
};

// At most kMostTerms, by ascending R.
struct SurrogateTerms {
  SurrogateTerm at[SurrogateSums::kMostTerms];
  int count = 0;
};

// Both put their work on the default stream. What went wrong, or nullptr.
// Fills joined and set_sizes: the set of the nearest R base classes of all centers are the first
// set_sizes[R - 1] of joined.
const char* launch_surrogate_sets(const SurrogateSums& task);
const char* launch_surrogate_sums(const SurrogateSums& task, const SurrogateTerms& terms);

}  // namespace deepvoro
