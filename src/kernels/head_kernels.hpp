#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.hpp"

// The hot loops of fitting heads; the rules of kernels.hpp hold. All levels give the same bits.
namespace deepvoro::kernels {

// One step of Adam: values -= rate * mean / (sqrt(square) * root_scale + epsilon), where `mean` and
// `square` are the running ones of the gradient. The corrections for their zero start are in
// `rate` and `root_scale`.
struct AdamStep {
  double keep_mean = 0.9;
  double keep_square = 0.999;
  double rate = 0.01;
  double root_scale = 1;
  double epsilon = 1e-8;
};

// momentum = keep * momentum + take * gradient; values -= rate * momentum.
struct MomentumStep {
  double keep = 0.9;
  double take = 0.1;
  double rate = 0.01;
};

inline constexpr std::size_t kNormalsPerBlock = 64;

struct HeadTable {
  // out[c] = row . others[c], for `count` rows that lie `stride` elements apart.
  void (*dots)(const double* row, const double* others, std::size_t stride, std::size_t count,
               std::size_t length, double* out);

  // Lanes are samples. logits[k * stride + i] becomes the probability of class k for sample i;
  // log_sums[i] = log(sum_k exp(logit_k)). stride is a multiple of 16.
  void (*softmax)(double* logits, std::size_t ways, std::size_t stride, double* log_sums);

  // An Adam step of values[k], means[k], squares[k], each `length` elements, all ways one after the
  // other. The gradient of values[k] is sum_r weights[k * weight_stride + r] * rows[r]
  // + pull[k] * values[k].
  void (*adam_step_float)(const AdamStep& step, const float* const* rows, std::size_t row_count,
                          const float* weights, std::size_t weight_stride, const float* pull,
                          std::size_t ways, std::size_t length, float* values, float* means,
                          float* squares);
  void (*adam_step_double)(const AdamStep& step, const double* const* rows, std::size_t row_count,
                           const double* weights, std::size_t weight_stride, const double* pull,
                           std::size_t ways, std::size_t length, double* values, double* means,
                           double* squares);

  // A momentum step; the gradient is sum_r weights[r] * rows[r] + pull * values.
  void (*momentum_step)(const MomentumStep& step, const double* const* rows, const double* weights,
                        std::size_t row_count, double pull, std::size_t length, double* values,
                        double* momentum);

  // out[k * out_stride + i] += sum_r weights[r * weight_stride + k] * rows[r * stride + i], for i
  // up to `length`. Each sum runs over r in order.
  void (*add_products)(const float* weights, std::size_t weight_stride, std::size_t ways,
                       const float* rows, std::size_t row_count, std::size_t stride,
                       std::size_t length, float* out, std::size_t out_stride);

  // Standard normal numbers, kNormalsPerBlock a block. A block depends on the key and its own
  // number alone.
  void (*normals)(std::uint64_t key, std::uint64_t first_block, std::size_t blocks, float* out);
};

// The table of a level that table() knows, and that of the level in use, see active().
[[nodiscard]] const HeadTable& head_table(Level level);
[[nodiscard]] const HeadTable& head_kernels();

}  // namespace deepvoro::kernels
