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

// From logits of samples to the residuals of a class; lanes are samples.
struct SampleResiduals {
  float* logits = nullptr;  // [ways x stride], less their shifts; then residuals, 0 from count on
  std::size_t ways = 0;
  std::size_t stride = 0;          // a multiple of 16
  std::size_t count = 0;           // of samples, at most stride
  const double* shifts = nullptr;  // [ways]
  std::size_t label = 0;           // of all samples
  double* scratch = nullptr;       // [ways x 16]
  double* of_label = nullptr;      // [stride], the logits of the label
  double* log_sums = nullptr;      // [stride], log(sum_k exp(logit_k))
  double* totals = nullptr;        // [ways], of the residuals, in order
};

struct HeadTable {
  // out[c] = row . others[c], for `count` rows that lie `stride` elements apart.
  void (*dots)(const double* row, const double* others, std::size_t stride, std::size_t count,
               std::size_t length, double* out);

  // Lanes are samples. logits[k * stride + i] becomes the probability of class k for sample i;
  // log_sums[i] = log(sum_k exp(logit_k)), where it is wanted. stride is a multiple of 16.
  void (*softmax)(double* logits, std::size_t ways, std::size_t stride, double* log_sums);

  // out[k] = the sum of the elements of row k, or of their squares, in order.
  void (*row_sums)(const double* rows, std::size_t stride, std::size_t count, std::size_t length,
                   double* out);
  void (*row_squares)(const double* rows, std::size_t stride, std::size_t count, std::size_t length,
                      double* out);

  void (*sample_residuals)(const SampleResiduals& task);

  // out[k] = |row k|^2, to the bit what a dot product of floats gives.
  void (*squared_norms)(const float* rows, std::size_t stride, std::size_t count,
                        std::size_t length, float* out);

  // to[i] += factor * from[i]
  void (*add_multiple)(double factor, const double* from, std::size_t count, double* to);

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
