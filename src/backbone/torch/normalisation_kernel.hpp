#pragma once

#include <cstdint>

struct CUstream_st;

// For nvcc, which need not see LibTorch.
namespace deepvoro {

// Rows of `channels` values in bfloat16, without gaps, in the memory of the device. Where there is
// something to add, the sum is written by whoever is the first to need it.
struct AddedRows {
  const void* x;
  const void* added;  // or nullptr: the sum is x
  void* sum;
  std::int64_t rows;
  int channels;

  // So many channels are read together, and the threads of a block share out those of a row.
  static constexpr int kWidth = 8;
  static constexpr int kMostChannels = 2048;
};

// For each channel.
struct NormalisedChannels {
  float epsilon;
  const float* mean;
  const float* variance;
  const float* weight;
  const float* bias;
};

// Mean and variance of the channels, and the running ones moved towards them by a share.
struct BatchStatistics {
  float* scratch;
  float* mean;
  float* variance;
  float* running_mean;
  float* running_variance;
  float momentum;
};

// Of what was normalised and rectified.
struct RectifiedGradient {
  const void* of_values;  // the gradient of the result
  const void* of_sum;     // another gradient of what was normalised, or nullptr
  float* scratch;
  float* of_weight;
  float* of_bias;
  void* out;  // the gradient of what was normalised
};

// Floats of scratch memory that sums over rows need.
[[nodiscard]] std::int64_t scratch_of_sums(int channels);

// Each puts its work on a stream. What went wrong, or nullptr. The first two write the sum.
const char* launch_statistics(const AddedRows& rows, const BatchStatistics& statistics,
                              CUstream_st* stream);
const char* launch_rectification(const AddedRows& rows, const NormalisedChannels& norm, void* out,
                                 CUstream_st* stream);
const char* launch_gradient(const AddedRows& rows, const NormalisedChannels& norm,
                            const RectifiedGradient& gradient, CUstream_st* stream);

}  // namespace deepvoro
