#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.hpp"

// The hot loops of fitting heads; the rules of kernels.hpp hold. All levels give the same bits.
namespace deepvoro::kernels {

// One step of Adam: mean = keep_mean * mean + gradient; square = keep_square * square + gradient^2;
// value -= mean / (sqrt(square) * root_scale + epsilon). The rate, what a gradient counts for and
// the corrections for the zero start are in `root_scale` and `epsilon`.
struct AdamStep {
  double keep_mean = 0.9;
  double keep_square = 0.999;
  double root_scale = 1;
  double epsilon = 1e-8;
};

// A step of Adam on the parameters of logistic regression. Columns come in blocks of 16.
template <class Real>
struct LogisticMove {
  AdamStep adam;
  std::size_t ways = 0;
  std::size_t blocks = 0;
  // The gradient of way k is sum_r residuals[k * residual_stride + r] * row r + pull[k] * values.
  const Real* rows = nullptr;  // [blocks x row_count x 16]
  std::size_t row_count = 0;
  const Real* residuals = nullptr;
  std::size_t residual_stride = 0;
  bool balanced = false;  // whether the residuals of each row add up to 0
  const Real* pull = nullptr;
  Real* parameters = nullptr;  // [ways x blocks x 3 x 16]: values, their means and squares
};

// logits[k * stride + r] = values of way k . row r, or their difference to those of the last way:
// the softmax of both is the same.
template <class Real>
struct Logits {
  std::size_t ways = 0;
  std::size_t blocks = 0;
  const Real* rows = nullptr;  // [blocks x row_count x 16]
  std::size_t row_count = 0;
  const Real* parameters = nullptr;  // as in LogisticMove
  bool relative = false;
  Real* logits = nullptr;
  std::size_t stride = 0;
  Real* norms = nullptr;  // [ways], the squared norms of the values, where they are wanted
};

// From logits to what the gradient of the mean cross-entropy of a batch weights its rows with:
// residuals[k * stride + r] = (softmax_k(logits of r + biases) - 1 if k is the label of r) / count.
template <class Real>
struct BatchResiduals {
  const Real* logits = nullptr;  // [ways x stride]
  std::size_t ways = 0;
  std::size_t stride = 0;  // a multiple of 8
  std::size_t count = 0;   // of rows, at most stride
  const double* biases = nullptr;
  // Behind the last, up to a multiple of 8, come some that are no class.
  const std::size_t* labels = nullptr;
  Real* residuals = nullptr;  // [ways x stride]; 0 for these
  double* totals = nullptr;   // [ways], of the residuals
  double* scratch = nullptr;  // [(ways + 1) x stride]
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

  // to[i] += factor * from[i]
  void (*add_multiple)(double factor, const double* from, std::size_t count, double* to);

  void (*logistic_move_float)(const LogisticMove<float>& task);
  void (*logistic_move_double)(const LogisticMove<double>& task);
  void (*logits_float)(const Logits<float>& task);
  void (*logits_double)(const Logits<double>& task);
  void (*batch_residuals_float)(const BatchResiduals<float>& task);
  void (*batch_residuals_double)(const BatchResiduals<double>& task);

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
