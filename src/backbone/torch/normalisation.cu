#include <cuda_bf16.h>

#include "normalisation_kernel.hpp"

// Bound by memory: values are read as few times as possible, 16 bytes at a time, several of them
// under way at once. Where a tensor is read a second time, it is read backwards, so that what the
// first reading left in the cache is still there; what is written that way ends with what the next
// convolution begins with.

namespace deepvoro {
namespace {

constexpr int kWidth = AddedRows::kWidth;
constexpr int kThreads = AddedRows::kMostChannels / kWidth;
// More would be slower: reading and writing get into each other's way.
constexpr int kBlocksPerMultiprocessor = 2;
constexpr int kAtOnce = 4;  // vectors that a thread reads before it works on them

struct alignas(16) Packed {
  __nv_bfloat162 pairs[kWidth / 2];
};

using Channels = float[kWidth];

__device__ void unpack(const Packed& packed, Channels& values) {
  for (int i = 0; i < kWidth / 2; ++i) {
    const float2 pair = __bfloat1622float2(packed.pairs[i]);
    values[2 * i] = pair.x;
    values[2 * i + 1] = pair.y;
  }
}

__device__ Packed pack(const Channels& values) {
  Packed packed;
  for (int i = 0; i < kWidth / 2; ++i)
    packed.pairs[i] = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
  return packed;
}

__device__ void load(const float* from, int first_channel, Channels& values) {
  for (int i = 0; i < kWidth; ++i) values[i] = from[first_channel + i];
}

// As it will be read again: in bfloat16.
__device__ Packed sum_of(const Packed& a, const Packed& b) {
  Channels first;
  Channels second;
  unpack(a, first);
  unpack(b, second);
  for (int i = 0; i < kWidth; ++i) first[i] += second[i];
  return pack(first);
}

enum class Direction { forwards, backwards };

// Which vectors a thread has: always of the same channels. A block has pieces of `kAtOnce` vectors
// for each of its threads, one piece here and one there.
class Share {
 public:
  __device__ Share(std::int64_t rows, int channels)
      : vectors_(channels / kWidth), end_(rows * vectors_) {}

  __device__ int first_channel() const { return static_cast<int>(threadIdx.x) % vectors_ * kWidth; }

  // `work` gets the places of `kAtOnce` vectors, `rest` those of the last ones alone.
  template <int kAtOnce, Direction kDirection, class Work, class Rest>
  __device__ void for_all(const Work& work, const Rest& rest) const {
    // A multiple of the vectors of a row.
    const auto step = static_cast<std::int64_t>(blockDim.x);
    const std::int64_t pieces = (end_ + kAtOnce * step - 1) / (kAtOnce * step);
    for (std::int64_t i = blockIdx.x; i < pieces; i += gridDim.x) {
      const std::int64_t piece = kDirection == Direction::forwards ? i : pieces - 1 - i;
      std::int64_t at = piece * kAtOnce * step + threadIdx.x;
      if (at + (kAtOnce - 1) * step < end_)
        work(at, step);
      else
        for (; at < end_; at += step) rest(at);
    }
  }

 private:
  int vectors_;
  std::int64_t end_;
};

// Two sums for each channel over the rows of a block: [2, channels] at `out`.
__device__ void add_up_block(const Channels& first, const Channels& second, int channels,
                             float* out) {
  __shared__ float sums[2 * kWidth][kThreads];
  for (int i = 0; i < kWidth; ++i) {
    sums[i][threadIdx.x] = first[i];
    sums[kWidth + i][threadIdx.x] = second[i];
  }
  __syncthreads();
  const int vectors = channels / kWidth;
  for (int i = static_cast<int>(threadIdx.x); i < 2 * channels; i += static_cast<int>(blockDim.x)) {
    const int channel = i % channels;
    const float* of_threads = sums[i / channels * kWidth + channel % kWidth];
    float sum = 0;
    for (int t = channel / kWidth; t < static_cast<int>(blockDim.x); t += vectors)
      sum += of_threads[t];
    out[i] = sum;
  }
}

// With the common part gone, squares lose no digits.
template <bool kAdds>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    add_up_values(AddedRows rows, float* scratch) {
  const auto* x = static_cast<const Packed*>(rows.x);
  const auto* added = static_cast<const Packed*>(rows.added);
  auto* sum = static_cast<Packed*>(rows.sum);
  const Share share(rows.rows, rows.channels);
  const int first = share.first_channel() / kWidth;
  Channels common;
  unpack(kAdds ? sum_of(x[first], added[first]) : x[first], common);
  Channels sums = {};
  Channels squares = {};
  const auto add = [&](const Packed& packed) {
    Channels values;
    unpack(packed, values);
    for (int i = 0; i < kWidth; ++i) {
      const float value = values[i] - common[i];
      sums[i] += value;
      squares[i] += value * value;
    }
  };
  constexpr int at_once = kAdds ? kAtOnce : 2 * kAtOnce;
  share.for_all<at_once, Direction::forwards>(
      [&](std::int64_t at, std::int64_t step) {
        Packed packed[at_once];
        Packed others[at_once];
        for (int r = 0; r < at_once; ++r) {
          packed[r] = x[at + r * step];
          if (kAdds) others[r] = added[at + r * step];
        }
        for (int r = 0; r < at_once; ++r) {
          if (kAdds) sum[at + r * step] = packed[r] = sum_of(packed[r], others[r]);
          add(packed[r]);
        }
      },
      [&](std::int64_t at) {
        const Packed packed = kAdds ? sum_of(x[at], added[at]) : x[at];
        if (kAdds) sum[at] = packed;
        add(packed);
      });
  add_up_block(sums, squares, rows.channels,
               scratch + static_cast<std::int64_t>(blockIdx.x) * 2 * rows.channels);
}

constexpr int kFinalChannels = 16;
constexpr int kFinalGroups = 16;

// The sums of all blocks for the channel of a thread, known to those of the first group.
__device__ void add_up_blocks(const float* scratch, int blocks, int channels, int channel,
                              double& first, double& second) {
  __shared__ double sums[2][kFinalGroups][kFinalChannels];
  double mine[2] = {0, 0};
  if (channel < channels)
    for (int b = static_cast<int>(threadIdx.y); b < blocks; b += kFinalGroups)
      for (int i = 0; i < 2; ++i) mine[i] += scratch[(2 * b + i) * channels + channel];
  for (int i = 0; i < 2; ++i) sums[i][threadIdx.y][threadIdx.x] = mine[i];
  __syncthreads();
  first = second = 0;
  if (threadIdx.y > 0) return;
  for (int g = 0; g < kFinalGroups; ++g) {
    first += sums[0][g][threadIdx.x];
    second += sums[1][g][threadIdx.x];
  }
}

__global__ void finish_statistics(AddedRows rows, BatchStatistics statistics, int blocks) {
  const int channel = static_cast<int>(blockIdx.x) * kFinalChannels + static_cast<int>(threadIdx.x);
  double sum;
  double square;
  add_up_blocks(statistics.scratch, blocks, rows.channels, channel, sum, square);
  if (threadIdx.y > 0 || channel >= rows.channels) return;
  const auto count = static_cast<double>(rows.rows);
  const auto common =
      static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16*>(rows.sum)[channel]));
  const double mean = common + sum / count;
  const double deviations = square - sum * sum / count;
  const double variance = deviations > 0 ? deviations / count : 0;
  statistics.mean[channel] = static_cast<float>(mean);
  statistics.variance[channel] = static_cast<float>(variance);
  const double momentum = statistics.momentum;
  const auto move = [&](float& running, double value) {
    running = static_cast<float>((1 - momentum) * running + momentum * value);
  };
  move(statistics.running_mean[channel], mean);
  move(statistics.running_variance[channel], variance * count / (count - 1));
}

// x * factor + shift is the normalised x.
struct Line {
  Channels factor;
  Channels shift;
};

__device__ Line line_of(const NormalisedChannels& norm, int first_channel) {
  Line line;
  for (int i = 0; i < kWidth; ++i) {
    const int c = first_channel + i;
    line.factor[i] = norm.weight[c] * rsqrtf(norm.variance[c] + norm.epsilon);
    line.shift[i] = norm.bias[c] - norm.mean[c] * line.factor[i];
  }
  return line;
}

template <bool kAdds>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    rectify(AddedRows rows, NormalisedChannels norm, Packed* out) {
  const auto* x = static_cast<const Packed*>(rows.x);
  const auto* added = static_cast<const Packed*>(rows.added);
  auto* sum = static_cast<Packed*>(rows.sum);
  const Share share(rows.rows, rows.channels);
  const Line line = line_of(norm, share.first_channel());
  const auto rectified = [&](const Packed& packed) {
    Channels values;
    unpack(packed, values);
    // A NaN stays one.
    for (int i = 0; i < kWidth; ++i) {
      const float value = values[i] * line.factor[i] + line.shift[i];
      values[i] = value < 0 ? 0 : value;
    }
    return pack(values);
  };
  constexpr int at_once = kAdds ? kAtOnce / 2 : kAtOnce;
  share.for_all<at_once, Direction::backwards>(
      [&](std::int64_t at, std::int64_t step) {
        Packed packed[at_once];
        Packed others[at_once];
        for (int r = 0; r < at_once; ++r) {
          packed[r] = x[at + r * step];
          if (kAdds) others[r] = added[at + r * step];
        }
        for (int r = 0; r < at_once; ++r) {
          if (kAdds) sum[at + r * step] = packed[r] = sum_of(packed[r], others[r]);
          out[at + r * step] = rectified(packed[r]);
        }
      },
      [&](std::int64_t at) {
        const Packed packed = kAdds ? sum_of(x[at], added[at]) : x[at];
        if (kAdds) sum[at] = packed;
        out[at] = rectified(packed);
      });
}

constexpr int kGradientsAtOnce = 2;

// Of the gradient of what was normalised: its sums, and those of its products with x less its mean.
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    add_up_gradients(AddedRows rows, NormalisedChannels norm, RectifiedGradient gradient) {
  const auto* x = static_cast<const Packed*>(rows.sum);
  const auto* of_values = static_cast<const Packed*>(gradient.of_values);
  const Share share(rows.rows, rows.channels);
  const Line line = line_of(norm, share.first_channel());
  Channels mean;
  load(norm.mean, share.first_channel(), mean);
  Channels sums = {};
  Channels products = {};
  const auto add = [&](const Packed& packed_x, const Packed& packed_gradient) {
    Channels values;
    Channels gradients;
    unpack(packed_x, values);
    unpack(packed_gradient, gradients);
    for (int i = 0; i < kWidth; ++i) {
      const float passed = values[i] * line.factor[i] + line.shift[i] > 0 ? gradients[i] : 0.0F;
      sums[i] += passed;
      products[i] += passed * (values[i] - mean[i]);
    }
  };
  share.for_all<kAtOnce, Direction::forwards>(
      [&](std::int64_t at, std::int64_t step) {
        Packed packed_x[kAtOnce];
        Packed packed_gradients[kAtOnce];
        for (int r = 0; r < kAtOnce; ++r) {
          packed_x[r] = x[at + r * step];
          packed_gradients[r] = of_values[at + r * step];
        }
        for (int r = 0; r < kAtOnce; ++r) add(packed_x[r], packed_gradients[r]);
      },
      [&](std::int64_t at) { add(x[at], of_values[at]); });
  add_up_block(sums, products, rows.channels,
               gradient.scratch + static_cast<std::int64_t>(blockIdx.x) * 2 * rows.channels);
}

__global__ void finish_gradients(AddedRows rows, NormalisedChannels norm,
                                 RectifiedGradient gradient, int blocks) {
  const int channel = static_cast<int>(blockIdx.x) * kFinalChannels + static_cast<int>(threadIdx.x);
  double sum;
  double product;
  add_up_blocks(gradient.scratch, blocks, rows.channels, channel, sum, product);
  if (threadIdx.y > 0 || channel >= rows.channels) return;
  gradient.of_bias[channel] = static_cast<float>(sum);
  gradient.of_weight[channel] = static_cast<float>(
      product / sqrt(static_cast<double>(norm.variance[channel]) + norm.epsilon));
}

template <bool kAdds>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    pass_gradients(AddedRows rows, NormalisedChannels norm, RectifiedGradient gradient) {
  const auto* x = static_cast<const Packed*>(rows.sum);
  const auto* of_values = static_cast<const Packed*>(gradient.of_values);
  const auto* of_sum = static_cast<const Packed*>(gradient.of_sum);
  auto* out = static_cast<Packed*>(gradient.out);
  const Share share(rows.rows, rows.channels);
  const Line line = line_of(norm, share.first_channel());
  // What the batch's own mean and variance take away is a line, too.
  Line taken;
  const float share_of_row = 1 / static_cast<float>(rows.rows);
  for (int i = 0; i < kWidth; ++i) {
    const int c = share.first_channel() + i;
    taken.factor[i] = line.factor[i] * rsqrtf(norm.variance[c] + norm.epsilon) *
                      gradient.of_weight[c] * share_of_row;
    taken.shift[i] =
        line.factor[i] * gradient.of_bias[c] * share_of_row - taken.factor[i] * norm.mean[c];
  }
  const auto passed = [&](const Packed& packed_x, const Packed& packed_gradient,
                          const Packed& packed_added) {
    Channels values;
    Channels gradients;
    Channels others;
    unpack(packed_x, values);
    unpack(packed_gradient, gradients);
    if (kAdds) unpack(packed_added, others);
    for (int i = 0; i < kWidth; ++i) {
      const bool passes = values[i] * line.factor[i] + line.shift[i] > 0;
      float of_x = passes ? gradients[i] * line.factor[i] : 0.0F;
      of_x -= values[i] * taken.factor[i] + taken.shift[i];
      values[i] = kAdds ? of_x + others[i] : of_x;
    }
    return pack(values);
  };
  share.for_all<kGradientsAtOnce, Direction::backwards>(
      [&](std::int64_t at, std::int64_t step) {
        Packed packed_x[kGradientsAtOnce];
        Packed packed_gradients[kGradientsAtOnce];
        Packed packed_added[kGradientsAtOnce];
        for (int r = 0; r < kGradientsAtOnce; ++r) {
          packed_x[r] = x[at + r * step];
          packed_gradients[r] = of_values[at + r * step];
          if (kAdds) packed_added[r] = of_sum[at + r * step];
        }
        for (int r = 0; r < kGradientsAtOnce; ++r)
          out[at + r * step] = passed(packed_x[r], packed_gradients[r], packed_added[r]);
      },
      [&](std::int64_t at) {
        out[at] = passed(x[at], of_values[at], kAdds ? of_sum[at] : Packed{});
      });
}

int multiprocessors() {
  int device = 0;
  int count = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

// Threads of a block: as many as have whole rows.
int threads_for(int channels) {
  const int vectors = channels / kWidth;
  return kThreads / vectors * vectors;
}

int blocks_for(const AddedRows& rows) {
  const std::int64_t vectors = rows.rows * (rows.channels / kWidth);
  const int threads = threads_for(rows.channels);
  const std::int64_t needed = (vectors + threads - 1) / threads;
  const std::int64_t most = static_cast<std::int64_t>(multiprocessors()) * kBlocksPerMultiprocessor;
  return static_cast<int>(needed < most ? needed : most);
}

dim3 final_blocks(int channels) {
  return dim3(static_cast<unsigned>((channels + kFinalChannels - 1) / kFinalChannels));
}

const char* last_error() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace

std::int64_t scratch_of_sums(int channels) {
  return std::int64_t{2} * channels * multiprocessors() * kBlocksPerMultiprocessor;
}

const char* launch_statistics(const AddedRows& rows, const BatchStatistics& statistics,
                              CUstream_st* stream) {
  const int blocks = blocks_for(rows);
  const auto add_up = rows.added == nullptr ? add_up_values<false> : add_up_values<true>;
  add_up<<<blocks, threads_for(rows.channels), 0, stream>>>(rows, statistics.scratch);
  finish_statistics<<<final_blocks(rows.channels), dim3(kFinalChannels, kFinalGroups), 0, stream>>>(
      rows, statistics, blocks);
  return last_error();
}

const char* launch_rectification(const AddedRows& rows, const NormalisedChannels& norm, void* out,
                                 CUstream_st* stream) {
  const auto kernel = rows.added == nullptr ? rectify<false> : rectify<true>;
  kernel<<<blocks_for(rows), threads_for(rows.channels), 0, stream>>>(rows, norm,
                                                                      static_cast<Packed*>(out));
  return last_error();
}

const char* launch_gradient(const AddedRows& rows, const NormalisedChannels& norm,
                            const RectifiedGradient& gradient, CUstream_st* stream) {
  const int blocks = blocks_for(rows);
  const int threads = threads_for(rows.channels);
  add_up_gradients<<<blocks, threads, 0, stream>>>(rows, norm, gradient);
  finish_gradients<<<final_blocks(rows.channels), dim3(kFinalChannels, kFinalGroups), 0, stream>>>(
      rows, norm, gradient, blocks);
  const auto pass = gradient.of_sum == nullptr ? pass_gradients<false> : pass_gradients<true>;
  pass<<<blocks_for(rows), threads, 0, stream>>>(rows, norm, gradient);
  return last_error();
}

}  // namespace deepvoro
