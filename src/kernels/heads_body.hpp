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

// Rounded twice, as wherever the compiler is not told of fused operations.
void add_multiple(double factor, const double* from, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

constexpr std::size_t kBlock = 16;
// The values of a block, their means and their squares.
constexpr std::size_t kAdamBlock = 3 * kBlock;

// Numbers of a step of Adam in all lanes.
template <class LanesOf>
struct AdamLanes {
  template <class Real>
  AdamLanes(const dk::AdamStep& step, Real /*selects*/)
      : keep_mean(LanesOf::all_of(static_cast<Real>(step.keep_mean))),
        keep_square(LanesOf::all_of(static_cast<Real>(step.keep_square))),
        root_scale(LanesOf::all_of(static_cast<Real>(step.root_scale))),
        epsilon(LanesOf::all_of(static_cast<Real>(step.epsilon))) {}
  LanesOf keep_mean, keep_square, root_scale, epsilon;
};

// Moves a block of parameters, given the part of their gradient that comes from the rows.
template <class Real, class LanesOf>
[[gnu::always_inline]] inline void adam(const AdamLanes<LanesOf>& step, const LanesOf& of_rows,
                                        const LanesOf& pull, Real* block) {
  const LanesOf value = load_lanes(block);
  const LanesOf gradient = multiply_add(pull, value, of_rows);
  const LanesOf mean = multiply_add(step.keep_mean, load_lanes(block + kBlock), gradient);
  const LanesOf square =
      multiply_add(step.keep_square, load_lanes(block + 2 * kBlock), gradient * gradient);
  mean.store(block + kBlock);
  square.store(block + 2 * kBlock);
  (value - mean / multiply_add(root(square), step.root_scale, step.epsilon)).store(block);
}

// As many blocks as share the loading of a residual.
template <class Real>
constexpr std::size_t kAdamBlocks = sizeof(Real) == sizeof(float) && kQueryBlock > 2 ? 3 : 1;

// GCC keeps the sums in registers only where it has unrolled the loops over them early.
template <std::size_t Ways, std::size_t Blocks, bool Balanced, class Real, class LanesOf>
[[gnu::always_inline]] inline void adam_blocks(const dk::LogisticMove<Real>& task,
                                               const AdamLanes<LanesOf>& step, std::size_t way,
                                               std::size_t first) {
  constexpr std::size_t summed = Balanced ? Ways - 1 : Ways;
  LanesOf sums[Ways][Blocks];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < Ways; ++k)
#pragma GCC unroll 8
    for (std::size_t b = 0; b < Blocks; ++b) sums[k][b] = LanesOf::zero();
  const std::size_t stride = task.residual_stride;
  const std::size_t block_of_rows = kBlock * task.row_count;
  const Real* residuals = task.residuals + way * stride;
  const Real* rows = task.rows + first * block_of_rows;
  for (std::size_t r = 0; r < task.row_count; ++r, rows += kBlock) {
    LanesOf x[Blocks];
#pragma GCC unroll 8
    for (std::size_t b = 0; b < Blocks; ++b) x[b] = load_lanes(rows + b * block_of_rows);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < summed; ++k) {
      const LanesOf residual = LanesOf::all_of(residuals[k * stride + r]);
#pragma GCC unroll 8
      for (std::size_t b = 0; b < Blocks; ++b)
        sums[k][b] = multiply_add(residual, x[b], sums[k][b]);
    }
  }
  if constexpr (Balanced)
#pragma GCC unroll 8
    for (std::size_t k = 0; k < summed; ++k)
#pragma GCC unroll 8
      for (std::size_t b = 0; b < Blocks; ++b) sums[summed][b] = sums[summed][b] - sums[k][b];
  const std::size_t way_stride = task.blocks * kAdamBlock;
  Real* parameters = task.parameters + way * way_stride + first * kAdamBlock;
#pragma GCC unroll 8
  for (std::size_t k = 0; k < Ways; ++k) {
    const LanesOf pull = LanesOf::all_of(task.pull[way + k]);
#pragma GCC unroll 8
    for (std::size_t b = 0; b < Blocks; ++b)
      adam(step, sums[k][b], pull, parameters + k * way_stride + b * kAdamBlock);
  }
}

inline void join_four(const DoubleLanes* lanes, double* out) {
  for (std::size_t i = 0; i < 4; ++i) out[i] = sum(lanes[i]);
}

constexpr std::size_t whole_fours(std::size_t count) {
  return (count + 3) / 4 * 4;
}

// Dot products whose partial sums are in registers until all are to be joined.
template <std::size_t Count, class Real>
struct Joined {
  template <class LanesOf>
  [[gnu::always_inline]] explicit Joined(const LanesOf* sums) {
    LanesOf padded[whole_fours(Count)];
    for (std::size_t i = 0; i < whole_fours(Count); ++i) padded[i] = sums[i < Count ? i : 0];
    for (std::size_t i = 0; i < Count; i += 4) join_four(padded + i, value + i);
  }
  Real value[whole_fours(Count)];
};

template <std::size_t Ways, bool Balanced, class Real>
void move_ways(const dk::LogisticMove<Real>& task, std::size_t way) {
  const AdamLanes<decltype(load_lanes(task.rows))> step(task.adam, Real{});
  std::size_t block = 0;
  for (; block + kAdamBlocks<Real> <= task.blocks; block += kAdamBlocks<Real>)
    adam_blocks<Ways, kAdamBlocks<Real>, Balanced>(task, step, way, block);
  for (; block < task.blocks; ++block) adam_blocks<Ways, 1, Balanced>(task, step, way, block);
}

// Where the residuals of a row add up to 0, so do the parts of the gradients that come from rows,
// and those of the last way follow from the others.
template <class Real>
void logistic_move(const dk::LogisticMove<Real>& task) {
  const bool last_follows = task.balanced && task.ways <= 5;
  in_fives(task.ways, [&]<std::size_t Ways>(std::size_t way) {
    if (last_follows)
      move_ways<Ways, true>(task, way);
    else
      move_ways<Ways, false>(task, way);
  });
}

template <std::size_t Ways, std::size_t Rows, bool Relative, class Real>
void logits_of_rows(const dk::Logits<Real>& task, std::size_t way, std::size_t row) {
  using LanesOf = decltype(load_lanes(task.rows));
  LanesOf sums[Ways][Rows];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < Ways; ++k)
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) sums[k][r] = LanesOf::zero();
  const std::size_t way_stride = task.blocks * kAdamBlock;
  const Real* values = task.parameters + way * way_stride;
  const Real* of_last = task.parameters + (task.ways - 1) * way_stride;
  const Real* rows = task.rows + kBlock * row;
  for (std::size_t i = 0; i < task.blocks; ++i) {
    const LanesOf last = Relative ? load_lanes(of_last + i * kAdamBlock) : LanesOf::zero();
    LanesOf x[Rows];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) x[r] = load_lanes(rows + kBlock * r);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Ways; ++k) {
      LanesOf value = load_lanes(values + k * way_stride);
      if constexpr (Relative) value = value - last;
#pragma GCC unroll 8
      for (std::size_t r = 0; r < Rows; ++r) sums[k][r] = multiply_add(value, x[r], sums[k][r]);
    }
    values += kAdamBlock;
    rows += kBlock * task.row_count;
  }
  LanesOf partial[Ways * Rows];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < Ways; ++k)
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) partial[k * Rows + r] = sums[k][r];
  const Joined<Ways * Rows, Real> joined(partial);
  for (std::size_t k = 0; k < Ways; ++k)
    for (std::size_t r = 0; r < Rows; ++r)
      task.logits[(way + k) * task.stride + row + r] = joined.value[k * Rows + r];
}

// Every other block is added to other sums: there would be too few to hide an addition's latency.
template <std::size_t Ways, class Real>
void norms_of_ways(const dk::Logits<Real>& task, std::size_t way) {
  using LanesOf = decltype(load_lanes(task.rows));
  LanesOf even[Ways];
  LanesOf odd[Ways];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < Ways; ++k) even[k] = odd[k] = LanesOf::zero();
  const std::size_t way_stride = task.blocks * kAdamBlock;
  const Real* values = task.parameters + way * way_stride;
  const auto add = [&](std::size_t block, LanesOf* sums) {
#pragma GCC unroll 8
    for (std::size_t k = 0; k < Ways; ++k) {
      const LanesOf value = load_lanes(values + k * way_stride + block * kAdamBlock);
      sums[k] = multiply_add(value, value, sums[k]);
    }
  };
  std::size_t block = 0;
  for (; block + 2 <= task.blocks; block += 2) {
    add(block, even);
    add(block + 1, odd);
  }
  if (block < task.blocks) add(block, even);
#pragma GCC unroll 8
  for (std::size_t k = 0; k < Ways; ++k) even[k] = even[k] + odd[k];
  const Joined<Ways, Real> joined(even);
  for (std::size_t k = 0; k < Ways; ++k) task.norms[way + k] = joined.value[k];
}

// As many ways and rows together as have the partial sums of their logits in registers.
template <class Real, class Block>
void in_tiles(std::size_t count, Block block) {
  if constexpr (sizeof(Real) == sizeof(float) && kQueryBlock > 2) {
    in_fives(count, block);
  } else {
    std::size_t first = 0;
    for (; first + 2 <= count; first += 2) block.template operator()<2>(first);
    if (first < count) block.template operator()<1>(first);
  }
}

template <bool Relative, class Real>
void logits_of_ways(const dk::Logits<Real>& task, std::size_t ways) {
  in_tiles<Real>(ways, [&]<std::size_t Ways>(std::size_t way) {
    in_tiles<Real>(task.row_count, [&]<std::size_t Rows>(std::size_t row) {
      logits_of_rows<Ways, Rows, Relative>(task, way, row);
    });
  });
}

template <class Real>
void logits(const dk::Logits<Real>& task) {
  if (task.relative) {
    logits_of_ways<true>(task, task.ways - 1);
    for (std::size_t r = 0; r < task.row_count; ++r)
      task.logits[(task.ways - 1) * task.stride + r] = 0;
  } else {
    logits_of_ways<false>(task, task.ways);
  }
  if (task.norms == nullptr) return;
  in_fives(task.ways, [&]<std::size_t Ways>(std::size_t way) { norms_of_ways<Ways>(task, way); });
}

// Rows side by side: the five of one shot of five ways fit, and loops of so many elements become
// one instruction with AVX-512.
constexpr std::size_t kTogether = 8;

// One thing after the other for all rows, so that they hide each other's latency. The inner loops
// are left for the compiler to vectorise, which it does not where it has unrolled them.
template <class Real>
void batch_residuals(const dk::BatchResiduals<Real>& task) {
  const std::size_t ways = task.ways;
  const std::size_t count = task.count;
  const std::size_t stride = task.stride;
  const std::size_t width = (count + kTogether - 1) / kTogether * kTogether;
  const Real* __restrict logits = task.logits;
  const double* __restrict biases = task.biases;
  const std::size_t* __restrict labels = task.labels;
  Real* __restrict residuals = task.residuals;
  double* __restrict terms = task.scratch;
  double* __restrict sums = terms + ways * width;
  double* __restrict totals = task.totals;

  for (std::size_t begin = 0; begin < width; begin += kTogether) {
    double largest[kTogether];
    for (double& x : largest) x = -HUGE_VAL;
    for (std::size_t k = 0; k < ways; ++k) {
      const double bias = biases[k];
#pragma GCC unroll 1
      for (std::size_t i = 0; i < kTogether; ++i) {
        const double x = static_cast<double>(logits[k * stride + begin + i]) + bias;
        terms[k * width + begin + i] = x;
        largest[i] = x > largest[i] ? x : largest[i];
      }
    }
    for (std::size_t k = 0; k < ways; ++k)
#pragma GCC unroll 1
      for (std::size_t i = 0; i < kTogether; ++i) terms[k * width + begin + i] -= largest[i];
  }

  for (std::size_t i = 0; i < ways * width; ++i) terms[i] = exponential(terms[i]);

  for (std::size_t i = 0; i < width; ++i) sums[i] = terms[i];
  for (std::size_t k = 1; k < ways; ++k)
    for (std::size_t i = 0; i < width; ++i) sums[i] += terms[k * width + i];
  const double share = 1 / static_cast<double>(count);
  for (std::size_t i = 0; i < width; ++i) sums[i] = i < count ? share / sums[i] : 0;

  for (std::size_t k = 0; k < ways; ++k) {
    double total[kTogether] = {};
    for (std::size_t begin = 0; begin < width; begin += kTogether)
#pragma GCC unroll 1
      for (std::size_t i = 0; i < kTogether; ++i) {
        const double of_label = labels[begin + i] == k ? share : 0;
        const double residual = terms[k * width + begin + i] * sums[begin + i] - of_label;
        total[i] += residual;
        residuals[k * stride + begin + i] = static_cast<Real>(residual);
      }
    totals[k] = ((total[0] + total[1]) + (total[2] + total[3])) +
                ((total[4] + total[5]) + (total[6] + total[7]));
  }
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
          .add_multiple = add_multiple,
          .logistic_move_float = logistic_move<float>,
          .logistic_move_double = logistic_move<double>,
          .logits_float = logits<float>,
          .logits_double = logits<double>,
          .batch_residuals_float = batch_residuals<float>,
          .batch_residuals_double = batch_residuals<double>,
          .momentum_step = momentum_step,
          .add_products = add_products,
          .normals = normals};
}

}  // namespace
