// The kernels that fit heads, written once. Needs lanes_*.hpp and body.hpp before it.
#pragma once

#include "body.hpp"
#include "kernels/head_kernels.hpp"

namespace {

// Dot products of one row with `Count` others, whose partial sums stay in registers.
template <std::size_t Count>
void dots_block(const double* row, const double* others, std::size_t stride, std::size_t length,
                double* out) {
  DoubleLanes partial[Count];
  for (DoubleLanes& lanes : partial) lanes = DoubleLanes::zero();
  for (std::size_t d = 0; d < length; d += 16) {
    const DoubleLanes x = DoubleLanes::load(row + d);
    for (std::size_t c = 0; c < Count; ++c)
      partial[c] = multiply_add(x, DoubleLanes::load(others + c * stride + d), partial[c]);
  }
  for (std::size_t c = 0; c < Count; ++c) out[c] = sum(partial[c]);
}

// Calls block<Count>(first) for blocks of 5 and a smaller last one that cover 0..count-1.
template <class Block>
void in_fives(std::size_t count, Block block) {
  std::size_t first = 0;
  for (; first + 5 <= count; first += 5) block.template operator()<5>(first);
  switch (count - first) {
    case 4:
      return block.template operator()<4>(first);
    case 3:
      return block.template operator()<3>(first);
    case 2:
      return block.template operator()<2>(first);
    case 1:
      return block.template operator()<1>(first);
    default:
      return;
  }
}

void dots_double(const double* row, const double* others, std::size_t stride, std::size_t count,
                 std::size_t length, double* out) {
  in_fives(count, [&]<std::size_t Count>(std::size_t first) {
    dots_block<Count>(row, others + first * stride, stride, length, out + first);
  });
}

void softmax(double* logits, std::size_t ways, std::size_t stride, double* log_sums) {
  for (std::size_t begin = 0; begin < stride; begin += 16) {
    double largest[16];
    double total[16] = {};
    for (std::size_t i = 0; i < 16; ++i) largest[i] = logits[begin + i];
    for (std::size_t k = 1; k < ways; ++k)
      for (std::size_t i = 0; i < 16; ++i) {
        const double x = logits[k * stride + begin + i];
        largest[i] = x > largest[i] ? x : largest[i];
      }
    for (std::size_t k = 0; k < ways; ++k) {
      double* of_way = logits + k * stride + begin;
      for (std::size_t i = 0; i < 16; ++i) {
        of_way[i] = exponential(of_way[i] - largest[i]);
        total[i] += of_way[i];
      }
    }
    for (std::size_t k = 0; k < ways; ++k)
      for (std::size_t i = 0; i < 16; ++i) logits[k * stride + begin + i] /= total[i];
    if (log_sums == nullptr) continue;
    for (std::size_t i = 0; i < 16; ++i) log_sums[begin + i] = largest[i] + natural_log(total[i]);
  }
}

// As many sums, each in order, as hide the latency of an addition behind each other.
template <class Term>
void add_in_order(std::size_t count, std::size_t length, double* sums, Term term) {
  in_fives(count, [&]<std::size_t Count>(std::size_t first) {
    double partial[Count];
    for (std::size_t k = 0; k < Count; ++k) partial[k] = sums[first + k];
    for (std::size_t i = 0; i < length; ++i)
      for (std::size_t k = 0; k < Count; ++k) partial[k] += term(first + k, i);
    for (std::size_t k = 0; k < Count; ++k) sums[first + k] = partial[k];
  });
}

void row_sums(const double* rows, std::size_t stride, std::size_t count, std::size_t length,
              double* out) {
  for (std::size_t k = 0; k < count; ++k) out[k] = 0;
  add_in_order(count, length, out,
               [=](std::size_t k, std::size_t i) { return rows[k * stride + i]; });
}

void row_squares(const double* rows, std::size_t stride, std::size_t count, std::size_t length,
                 double* out) {
  for (std::size_t k = 0; k < count; ++k) out[k] = 0;
  add_in_order(count, length, out, [=](std::size_t k, std::size_t i) {
    return rows[k * stride + i] * rows[k * stride + i];
  });
}

void sample_residuals(const dk::SampleResiduals& task) {
  for (std::size_t k = 0; k < task.ways; ++k) task.totals[k] = 0;
  double* scratch = task.scratch;
  for (std::size_t begin = 0; begin < task.stride; begin += 16) {
    for (std::size_t k = 0; k < task.ways; ++k)
      for (std::size_t i = 0; i < 16; ++i)
        scratch[k * 16 + i] =
            static_cast<double>(task.logits[k * task.stride + begin + i]) + task.shifts[k];
    double* of_label = scratch + task.label * 16;
    for (std::size_t i = 0; i < 16; ++i) task.of_label[begin + i] = of_label[i];
    softmax(scratch, task.ways, 16, task.log_sums + begin);
    for (std::size_t i = 0; i < 16; ++i) of_label[i] -= 1;
    const std::size_t left = task.count > begin ? task.count - begin : 0;
    const std::size_t present = left < 16 ? left : 16;
    add_in_order(task.ways, present, task.totals,
                 [=](std::size_t k, std::size_t i) { return scratch[k * 16 + i]; });
    for (std::size_t k = 0; k < task.ways; ++k)
      for (std::size_t i = 0; i < 16; ++i)
        task.logits[k * task.stride + begin + i] =
            i < present ? static_cast<float>(scratch[k * 16 + i]) : 0.0F;
  }
}

// The tree by which every level joins the partial sums of a dot product of floats.
inline float joined(const FloatLanes& lanes) {
  float all[16];
  lanes.store(all);
  float eight[8];
  for (std::size_t i = 0; i < 8; ++i) eight[i] = all[i] + all[i + 8];
  return ((eight[0] + eight[1]) + (eight[2] + eight[3])) +
         ((eight[4] + eight[5]) + (eight[6] + eight[7]));
}

void squared_norms(const float* rows, std::size_t stride, std::size_t count, std::size_t length,
                   float* out) {
  in_fives(count, [&]<std::size_t Count>(std::size_t first) {
    FloatLanes partial[Count];
    for (FloatLanes& lanes : partial) lanes = FloatLanes::zero();
    for (std::size_t d = 0; d < length; d += 16)
      for (std::size_t k = 0; k < Count; ++k) {
        const FloatLanes x = FloatLanes::load(rows + (first + k) * stride + d);
        partial[k] = multiply_add(x, x, partial[k]);
      }
    for (std::size_t k = 0; k < Count; ++k) out[first + k] = joined(partial[k]);
  });
}

// Rounded twice, as wherever the compiler is not told of fused operations.
void add_multiple(double factor, const double* from, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

// One step of Adam for 16 parameters, given their gradient.
// No two of the arrays overlap.
template <class Real>
[[gnu::always_inline]] inline void adam(const dk::AdamStep& step, const Real* __restrict gradient,
                                        Real* __restrict values, Real* __restrict mean,
                                        Real* __restrict square) {
  const auto keep_mean = static_cast<Real>(step.keep_mean);
  const auto take_mean = static_cast<Real>(1 - step.keep_mean);
  const auto keep_square = static_cast<Real>(step.keep_square);
  const auto take_square = static_cast<Real>(1 - step.keep_square);
  const auto rate = static_cast<Real>(step.rate);
  const auto root_scale = static_cast<Real>(step.root_scale);
  const auto epsilon = static_cast<Real>(step.epsilon);
  for (std::size_t i = 0; i < 16; ++i) {
    const Real g = gradient[i];
    const Real m = fused(keep_mean, mean[i], take_mean * g);
    const Real v = fused(keep_square, square[i], take_square * g * g);
    mean[i] = m;
    square[i] = v;
    values[i] -= rate * m / fused(root(v), root_scale, epsilon);
  }
}

// As many blocks of 16 parameters as share the loading of a weight.
template <class Real>
constexpr std::size_t kAdamBlocks = sizeof(Real) == sizeof(float) && kQueryBlock > 2 ? 2 : 1;

template <std::size_t Count, std::size_t Blocks, class Real>
void adam_block(const dk::AdamStep& step, const Real* const* rows, std::size_t row_count,
                const Real* weights, std::size_t weight_stride, const Real* pull,
                std::size_t length, std::size_t d, Real* values, Real* means, Real* squares) {
  using LanesOf = decltype(load_lanes(values));
  LanesOf sums[Count][Blocks];
  for (std::size_t k = 0; k < Count; ++k)
    for (std::size_t b = 0; b < Blocks; ++b) sums[k][b] = LanesOf::zero();
  for (std::size_t r = 0; r < row_count; ++r) {
    LanesOf x[Blocks];
    for (std::size_t b = 0; b < Blocks; ++b) x[b] = load_lanes(rows[r] + d + 16 * b);
    for (std::size_t k = 0; k < Count; ++k) {
      const LanesOf weight = LanesOf::all_of(weights[k * weight_stride + r]);
      for (std::size_t b = 0; b < Blocks; ++b) sums[k][b] = multiply_add(weight, x[b], sums[k][b]);
    }
  }
  for (std::size_t k = 0; k < Count; ++k)
    for (std::size_t b = 0; b < Blocks; ++b) {
      const std::size_t at = k * length + d + 16 * b;
      Real gradient[16];
      multiply_add(LanesOf::all_of(pull[k]), load_lanes(values + at), sums[k][b]).store(gradient);
      adam(step, gradient, values + at, means + at, squares + at);
    }
}

template <class Real>
void adam_step(const dk::AdamStep& step, const Real* const* rows, std::size_t row_count,
               const Real* weights, std::size_t weight_stride, const Real* pull, std::size_t ways,
               std::size_t length, Real* values, Real* means, Real* squares) {
  in_fives(ways, [&]<std::size_t Count>(std::size_t first) {
    const auto block = [&]<std::size_t Blocks>(std::size_t d) {
      adam_block<Count, Blocks>(step, rows, row_count, weights + first * weight_stride,
                                weight_stride, pull + first, length, d, values + first * length,
                                means + first * length, squares + first * length);
    };
    std::size_t d = 0;
    for (; d + 16 * kAdamBlocks<Real> <= length; d += 16 * kAdamBlocks<Real>)
      block.template operator()<kAdamBlocks<Real>>(d);
    for (; d < length; d += 16) block.template operator()<1>(d);
  });
}

void momentum_step(const dk::MomentumStep& step, const double* const* rows, const double* weights,
                   std::size_t row_count, double pull, std::size_t length, double* values,
                   double* momentum) {
  const DoubleLanes pulls = DoubleLanes::all_of(pull);
  for (std::size_t d = 0; d < length; d += 16) {
    const DoubleLanes x = DoubleLanes::load(values + d);
    DoubleLanes gradient = multiply_add(pulls, x, DoubleLanes::zero());
    for (std::size_t r = 0; r < row_count; ++r)
      gradient =
          multiply_add(DoubleLanes::all_of(weights[r]), DoubleLanes::load(rows[r] + d), gradient);
    const DoubleLanes kept = multiply_add(DoubleLanes::all_of(step.keep),
                                          DoubleLanes::load(momentum + d), DoubleLanes::zero());
    const DoubleLanes moved = multiply_add(DoubleLanes::all_of(step.take), gradient, kept);
    moved.store(momentum + d);
    multiply_add(DoubleLanes::all_of(-step.rate), moved, x).store(values + d);
  }
}

// As many blocks of 16 elements as have their sums for 5 ways in registers.
constexpr std::size_t kProductBlocks = kQueryBlock > 2 ? 4 : 1;

template <std::size_t Count, std::size_t Blocks>
void add_products_block(const float* weights, std::size_t weight_stride, const float* rows,
                        std::size_t row_count, std::size_t stride, float* out,
                        std::size_t out_stride) {
  FloatLanes sums[Count][Blocks];
  for (std::size_t k = 0; k < Count; ++k)
    for (std::size_t b = 0; b < Blocks; ++b)
      sums[k][b] = FloatLanes::load(out + k * out_stride + 16 * b);
  for (std::size_t r = 0; r < row_count; ++r) {
    FloatLanes x[Blocks];
    for (std::size_t b = 0; b < Blocks; ++b) x[b] = FloatLanes::load(rows + r * stride + 16 * b);
    for (std::size_t k = 0; k < Count; ++k) {
      const FloatLanes weight = FloatLanes::all_of(weights[r * weight_stride + k]);
      for (std::size_t b = 0; b < Blocks; ++b) sums[k][b] = multiply_add(weight, x[b], sums[k][b]);
    }
  }
  for (std::size_t k = 0; k < Count; ++k)
    for (std::size_t b = 0; b < Blocks; ++b) sums[k][b].store(out + k * out_stride + 16 * b);
}

void add_products(const float* weights, std::size_t weight_stride, std::size_t ways,
                  const float* rows, std::size_t row_count, std::size_t stride, std::size_t length,
                  float* out, std::size_t out_stride) {
  in_fives(ways, [&]<std::size_t Count>(std::size_t first) {
    std::size_t d = 0;
    for (; d + 16 * kProductBlocks <= length; d += 16 * kProductBlocks)
      add_products_block<Count, kProductBlocks>(weights + first, weight_stride, rows + d, row_count,
                                                stride, out + first * out_stride + d, out_stride);
    if constexpr (kProductBlocks > 2)
      for (; d + 32 <= length; d += 32)
        add_products_block<Count, 2>(weights + first, weight_stride, rows + d, row_count, stride,
                                     out + first * out_stride + d, out_stride);
    for (; d < length; d += 16)
      add_products_block<Count, 1>(weights + first, weight_stride, rows + d, row_count, stride,
                                   out + first * out_stride + d, out_stride);
  });
}

// Philox 4x32-10 (Salmon et al., 2011): four random words from a counter and a key, 16 counters
// side by side.
struct PhiloxWords {
  std::uint32_t word[4][16];
};

inline void philox(std::uint64_t key, std::uint64_t counter, PhiloxWords& out) {
  // Words in the lower halves of what is multiplied, or the loop would not be vectorised.
  constexpr std::uint64_t lower = 0xFFFFFFFFU;
  std::uint64_t a[16];
  std::uint64_t b[16];
  std::uint64_t c[16];
  std::uint64_t d[16];
  for (std::uint64_t i = 0; i < 16; ++i) {
    const std::uint64_t at = counter + i;
    a[i] = at & lower;
    b[i] = at >> 32U;
    c[i] = 0;
    d[i] = 0;
  }
  auto key_low = static_cast<std::uint32_t>(key);
  auto key_high = static_cast<std::uint32_t>(key >> 32U);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t low = key_low;
    const std::uint64_t high = key_high;
    for (std::size_t i = 0; i < 16; ++i) {
      const std::uint64_t first = std::uint64_t{0xD2511F53U} * (a[i] & lower);
      const std::uint64_t second = std::uint64_t{0xCD9E8D57U} * (c[i] & lower);
      a[i] = (second >> 32U) ^ b[i] ^ low;
      c[i] = (first >> 32U) ^ d[i] ^ high;
      b[i] = second & lower;
      d[i] = first & lower;
    }
    key_low += 0x9E3779B9U;
    key_high += 0xBB67AE85U;
  }
  for (std::size_t i = 0; i < 16; ++i) {
    out.word[0][i] = static_cast<std::uint32_t>(a[i]);
    out.word[1][i] = static_cast<std::uint32_t>(b[i]);
    out.word[2][i] = static_cast<std::uint32_t>(c[i]);
    out.word[3][i] = static_cast<std::uint32_t>(d[i]);
  }
}

// Two independent standard normal numbers from two random words (Box and Muller).
inline void normal_pair(std::uint32_t first, std::uint32_t second, float& one, float& other) {
  // The middle of one of 2^23 equal parts of (0, 1), so that the logarithm exists.
  const float u =
      fmaf(static_cast<float>(static_cast<std::int32_t>(first >> 9U)), 0x1p-23F, 0x1p-24F);
  const float radius = sqrtf(-2 * quick_log(u));
  // An angle in turns, as a quarter of the circle and what is left of it, -1/8 to 1/8 of a turn.
  const std::uint32_t quarter = (second + 0x20000000U) >> 30U;
  const auto rest = static_cast<std::int32_t>(second - (quarter << 30U));
  const float x = static_cast<float>(rest >> 6) * (0x1.921fb6p+1F * 0x1p-25F);
  const float x2 = x * x;
  float sine = 2.7183114e-6F;
  sine = fmaf(sine, x2, -1.9839334e-4F);
  sine = fmaf(sine, x2, 8.3333293e-3F);
  sine = fmaf(sine, x2, -1.6666667e-1F);
  sine = fmaf(sine * x2, x, x);
  float cosine = 2.4433157e-5F;
  cosine = fmaf(cosine, x2, -1.3887316e-3F);
  cosine = fmaf(cosine, x2, 4.1666646e-2F);
  cosine = fmaf(cosine, x2, -0.5F);
  cosine = fmaf(cosine, x2, 1.0F);
  const bool swapped = (quarter & 1U) != 0;
  const float along = swapped ? sine : cosine;
  const float across = swapped ? cosine : sine;
  one = radius * (quarter == 1 || quarter == 2 ? -along : along);
  other = radius * (quarter >= 2 ? -across : across);
}

void normals(std::uint64_t key, std::uint64_t first_block, std::size_t blocks, float* out) {
  for (std::size_t block = 0; block < blocks; ++block) {
    PhiloxWords words;
    philox(key, (first_block + block) * 16, words);
    float* to = out + block * dk::kNormalsPerBlock;
    for (std::size_t i = 0; i < 16; ++i) {
      normal_pair(words.word[0][i], words.word[1][i], to[i], to[16 + i]);
      normal_pair(words.word[2][i], words.word[3][i], to[32 + i], to[48 + i]);
    }
  }
}

constexpr dk::HeadTable make_head_table() {
  return {.dots = dots_double,
          .softmax = softmax,
          .row_sums = row_sums,
          .row_squares = row_squares,
          .sample_residuals = sample_residuals,
          .squared_norms = squared_norms,
          .add_multiple = add_multiple,
          .adam_step_float = adam_step<float>,
          .adam_step_double = adam_step<double>,
          .momentum_step = momentum_step,
          .add_products = add_products,
          .normals = normals};
}

}  // namespace
