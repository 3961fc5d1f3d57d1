// The kernels, written once. A file lanes_*.hpp must be included first: it decides which
// instruction set this body is compiled for.
#pragma once

#include "core/matrix.hpp"
#include "elementary.hpp"
#include "kernels/kernels.hpp"
#include "products_body.hpp"

namespace {

template <class Real>
Real fused(Real a, Real b, Real c) {
  if constexpr (sizeof(Real) == sizeof(float))
    return fmaf(a, b, c);
  else
    return fma(a, b, c);
}

template <class Real>
Real root(Real x) {
  if constexpr (sizeof(Real) == sizeof(float))
    return sqrtf(x);
  else
    return sqrt(x);
}

template <class Real>
void mean(const Real* const* rows, std::size_t count, std::size_t length, Real* out) {
  using LanesOf = decltype(load_lanes(out));
  const LanesOf share = LanesOf::all_of(Real{1} / static_cast<Real>(count));
  for (std::size_t i = 0; i < length; i += 16) {
    const LanesOf first = load_lanes(rows[0] + i);
    LanesOf differences = LanesOf::zero();
    for (std::size_t r = 1; r < count; ++r)
      differences = differences + (load_lanes(rows[r] + i) - first);
    multiply_add(differences, share, first).store(out + i);
  }
}

template <class Real>
bool distances(const Real* norms, const Real* dots, std::size_t count, Real* out) {
  int close = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Real squared = fused(Real{-2}, dots[i], norms[i]);
    close |= squared * dk::kCancellation < norms[i] ? 1 : 0;
    out[i] = root(squared > 0 ? squared : Real{0});
  }
  return close != 0;
}

template <std::size_t Ways, class Real>
void grow_ways(const dk::SurrogateGrowth<Real>& task, std::size_t first_way) {
  using LanesOf = decltype(load_lanes(task.sums));
  for (std::size_t begin = 0; begin < task.stride; begin += 16) {
    Real* sums = task.sums + first_way * task.stride + begin;
    LanesOf partial[Ways];
    for (std::size_t k = 0; k < Ways; ++k) partial[k] = load_lanes(sums + k * task.stride);
    for (std::size_t t = 0; t < task.joining; ++t) {
      const LanesOf of_queries = load_lanes(task.of_queries + t * task.stride + begin);
      const Real* of_ways = task.of_ways + t * task.ways + first_way;
      for (std::size_t k = 0; k < Ways; ++k) {
        const LanesOf difference = of_queries - LanesOf::all_of(of_ways[k]);
        partial[k] = multiply_add(difference, difference, partial[k]);
      }
    }
    for (std::size_t k = 0; k < Ways; ++k) partial[k].store(sums + k * task.stride);
  }
}

template <class Real>
void grow_surrogate(const dk::SurrogateGrowth<Real>& task) {
  constexpr std::size_t together = 5;
  std::size_t k = 0;
  for (; k + together <= task.ways; k += together) grow_ways<together>(task, k);
  for (; k < task.ways; ++k) grow_ways<1>(task, k);
}

// As many values as a register holds are compared with all the others at a time. Where a comparison
// holds it is -1.
template <class Real>
void ranks(const Real* values, std::size_t count, std::uint32_t* out) {
  using Register __attribute__((vector_size(kRegisterBytes))) = Real;
  constexpr std::size_t lanes = kRegisterBytes / sizeof(Real);
  Register place;
  for (std::size_t i = 0; i < lanes; ++i) place[i] = static_cast<Real>(i);
  for (std::size_t begin = 0; begin < count; begin += lanes) {
    Register own;
    memcpy(&own, values + begin, sizeof own);
    const std::size_t end = count < begin + lanes ? count : begin + lanes;
    auto before = place < Real{0};  // none
    for (std::size_t other = 0; other < begin; ++other) before += own >= values[other];
    for (std::size_t other = begin; other < end; ++other)
      before += (own > values[other]) |
                ((own == values[other]) & (place > static_cast<Real>(other - begin)));
    for (std::size_t other = end; other < count; ++other) before += own > values[other];
    for (std::size_t i = 0; i < lanes; ++i) out[begin + i] = static_cast<std::uint32_t>(-before[i]);
  }
}

template <class Real>
void surrogate_shares(const Real* __restrict sums, std::size_t ways, std::size_t stride,
                      Real* __restrict shares) {
  using LanesOf = decltype(load_lanes(sums));
  const LanesOf zero = LanesOf::zero();
  for (std::size_t i = 0; i < ways * stride; ++i) shares[i] = root(sums[i]);
  for (std::size_t begin = 0; begin < stride; begin += 16) {
    LanesOf of_ways = zero;
    for (std::size_t k = 0; k < ways; ++k)
      of_ways = of_ways + load_lanes(shares + k * stride + begin);
    Real total[16];
    of_ways.store(total);
    for (Real& value : total) value = value > 0 ? 1 / value : Real{0};
    const LanesOf scale = load_lanes(total);
    for (std::size_t k = 0; k < ways; ++k) {
      Real* of_way = shares + k * stride + begin;
      multiply_add(load_lanes(of_way), scale, zero).store(of_way);
    }
  }
}

template <class Real>
void combine(Real a, const Real* x, Real b, const Real* y, std::size_t count, Real* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = fused(a, x[i], b * y[i]);
}

template <class Element>
double norm(const Element* row, std::size_t dim) {
  const auto load = [](const Element* from) {
    if constexpr (sizeof(Element) == sizeof(float))
      return FloatLanes::load(from);
    else
      return load_halves(from);
  };
  DoubleLanes partial = DoubleLanes::zero();
  const auto add = [&](const Element* from) {
    const DoubleLanes x = widened(load(from));
    partial = multiply_add(x, x, partial);
  };
  std::size_t d = 0;
  for (; d + 16 <= dim; d += 16) add(row + d);
  if (d < dim) {
    Element rest[16] = {};
    for (std::size_t i = 0; d + i < dim; ++i) rest[i] = row[d + i];
    add(rest);
  }
  return sqrt(sum(partial));
}

double norm_of_widened(double* row, std::size_t dim) {
  const std::size_t length = deepvoro::padded(dim);
  for (std::size_t i = dim; i < length; ++i) row[i] = 0;
  DoubleLanes partial = DoubleLanes::zero();
  for (std::size_t d = 0; d < length; d += 16) {
    const DoubleLanes x = DoubleLanes::load(row + d);
    partial = multiply_add(x, x, partial);
  }
  return sqrt(sum(partial));
}

double widen_float16(const std::uint16_t* row, std::size_t dim, double* out) {
  widen_half(row, dim, out);
  return norm_of_widened(out, dim);
}

double widen_float32(const float* row, std::size_t dim, double* out) {
  for (std::size_t i = 0; i < dim; ++i) out[i] = static_cast<double>(row[i]);
  return norm_of_widened(out, dim);
}

template <class Real, class Function>
void each(Real* row, std::size_t dim, Function function) {
  for (std::size_t i = 0; i < dim; ++i) row[i] = function(row[i]);
}

inline void widen(const std::uint16_t* row, std::size_t count, float* out) {
  widen_half(row, count, out);
}
inline void widen(const float* row, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = row[i];
}

template <int ForWriting, class T>
void fetch_row(const T* row, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 64 / sizeof(T)) __builtin_prefetch(row + i, ForWriting);
}

// `row` holds widened elements and receives the results. What the ladder makes of elements outside
// its domain does not matter: the row is then done again.
template <class Ladder>
bool quick_ladder(const dk::QuickTransform& t, float scale, const float* center, std::size_t count,
                  float* row, Ladder ladder) {
  constexpr float far = 1e18F;  // its square is still a float
  const float w = t.w * scale;
  const float b = t.b;
  const float lowest = t.lowest;
  unsigned outside = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float y = fmaf(w, row[i], b);
    outside |= y >= lowest && y <= far ? 0U : 1U;
    row[i] = ladder(y) - center[i];
  }
  return outside == 0;
}

template <class Element, class Ladder>
bool quick_rows(const dk::QuickTransform& t, const dk::QuickRows<Element>& task, Ladder ladder) {
  constexpr std::size_t ahead = 4;
  bool inside = true;
  for (std::size_t r = 0; r < task.count; ++r) {
    const Element* row = task.rows + r * task.row_stride;
    float* out = task.out + r * task.out_stride;
    fetch_row<0>(row + ahead * task.row_stride, task.columns);
    fetch_row<1>(out + ahead * task.out_stride, task.columns);
    widen(row, task.columns, out);
    inside &= quick_ladder(t, task.scales[r], task.center, task.columns, out, ladder);
  }
  return inside;
}

template <class Element>
bool quick_transform(const dk::QuickTransform& t, const dk::QuickRows<Element>& task) {
  switch (t.ladder) {
    case dk::Ladder::identity:
      return quick_rows(t, task, [](float y) { return y; });
    case dk::Ladder::square_root:
      return quick_rows(t, task, [](float y) { return sqrtf(y); });
    case dk::Ladder::three_quarters:
      return quick_rows(t, task, [](float y) { return sqrtf(y) * sqrtf(sqrtf(y)); });
    case dk::Ladder::square:
      return quick_rows(t, task, [](float y) { return y * y; });
    case dk::Ladder::logarithm:
      return quick_rows(t, task, [](float y) { return quick_log(y); });
    default:
      return false;
  }
}

void climb_ladder(const dk::RowTransform& t, double* row, std::size_t dim) {
  const double lambda = t.lambda;
  switch (t.ladder) {
    case dk::Ladder::identity:
      return;
    case dk::Ladder::square_root:
      return each(row, dim, [](double y) { return sqrt(y); });
    case dk::Ladder::three_quarters:
      return each(row, dim, [](double y) { return sqrt(y) * sqrt(sqrt(y)); });
    case dk::Ladder::square:
      return each(row, dim, [](double y) { return y * y; });
    case dk::Ladder::logarithm:
      return each(row, dim, [](double y) { return natural_log(y); });
    case dk::Ladder::even_power:
    case dk::Ladder::power:
      return each(row, dim, [lambda](double y) { return real_power(fabs(y), lambda); });
    case dk::Ladder::odd_power:
      return each(row, dim,
                  [lambda](double y) { return copysign(real_power(fabs(y), lambda), y); });
  }
}

// Which inputs the real-valued ladder is defined for; the signed one takes all.
bool in_domain(const dk::RowTransform& t, const double* row, std::size_t dim) {
  double smallest = HUGE_VAL;
  for (std::size_t i = 0; i < dim; ++i) smallest = row[i] < smallest ? row[i] : smallest;
  switch (t.ladder) {
    case dk::Ladder::identity:
    case dk::Ladder::square:
    case dk::Ladder::even_power:
    case dk::Ladder::odd_power:
      return true;
    case dk::Ladder::logarithm:
      return smallest > 0;
    case dk::Ladder::square_root:
    case dk::Ladder::three_quarters:
    case dk::Ladder::power:
      return smallest >= 0;
  }
  return false;
}

bool all_finite(const double* row, std::size_t dim) {
  constexpr double largest = 3.4028234663852886e38;  // beyond it a result is no float32
  double worst = 0;
  for (std::size_t i = 0; i < dim; ++i) {
    const double magnitude = fabs(row[i]);
    worst = magnitude > worst ? magnitude : worst;
  }
  return worst <= largest;
}

dk::RowStatus transform(const dk::RowTransform& t, double norm, std::size_t dim, double* row) {
  // Squares of float32 values cannot overflow a double: the norm is finite just when the row is.
  if (!(norm <= 1.7976931348623157e308)) return dk::RowStatus::not_finite;
  const double w = t.w;
  const double b = t.b;
  const double divisor = norm > 0 ? norm : 1;
  each(row, dim, [=](double x) { return fma(w, x / divisor, b); });

  if (!t.is_signed) {
    if (!in_domain(t, row, dim)) return dk::RowStatus::out_of_domain;
    climb_ladder(t, row, dim);
  } else if (t.ladder == dk::Ladder::logarithm) {
    each(row, dim, [](double y) { return copysign(natural_log(1 + fabs(y)), y); });
  } else if (t.ladder != dk::Ladder::identity) {
    const double lambda = t.lambda;
    each(row, dim, [lambda](double y) { return copysign(real_power(fabs(y), lambda), y); });
  }
  if (!all_finite(row, dim)) return dk::RowStatus::overflow;
  const double shift = t.shift;
  each(row, dim, [shift](double y) { return y - shift; });
  return dk::RowStatus::ok;
}

template <class Real>
void accumulate(const Real* values, std::size_t count, double* sums) {
  fetch_row<1>(sums + count, count);
  for (std::size_t i = 0; i < count; ++i) sums[i] += static_cast<double>(values[i]);
}

void power(double* values, std::size_t count, double exponent) {
  if (exponent == 1) return;
  if (exponent == 2) return each(values, count, [](double x) { return x * x; });
  if (exponent == 0.5) return each(values, count, [](double x) { return sqrt(x); });
  if (exponent == -1) return each(values, count, [](double x) { return 1 / x; });
  if (exponent == -2) return each(values, count, [](double x) { return 1 / (x * x); });
  each(values, count, [exponent](double x) { return real_power(x, exponent); });
}

double multiply_add_rounds(std::size_t rounds) {
  const float nearly_one[16] = {0.999F, 0.999F, 0.999F, 0.999F, 0.999F, 0.999F, 0.999F, 0.999F,
                                0.999F, 0.999F, 0.999F, 0.999F, 0.999F, 0.999F, 0.999F, 0.999F};
  const FloatLanes factor = FloatLanes::load(nearly_one);
  // Enough to keep two multipliers busy, and few enough for the registers: with eight of two
  // registers each, AVX2 spends its time on storing them.
  constexpr std::size_t chains = kRegisterBytes == 64 ? 8 : 6;
  constexpr std::size_t steps = dk::kFlopsPerRound / (2 * 16 * chains);
  static_assert(steps * 2 * 16 * chains == dk::kFlopsPerRound);
  FloatLanes sums[chains];
  for (FloatLanes& lanes : sums) lanes = factor;
  for (std::size_t step = 0; step < rounds * steps; ++step)
    for (FloatLanes& lanes : sums) lanes = multiply_add(lanes, factor, factor);
  double total = 0;
  for (const FloatLanes& lanes : sums) total += sum(lanes);
  return total;
}

constexpr dk::Table make_table(dk::Level level) {
  return {.level = level,
          .norm_float16 = norm<std::uint16_t>,
          .norm_float32 = norm<float>,
          .widen_float16 = widen_float16,
          .widen_float32 = widen_float32,
          .transform = transform,
          .quick_float16 = quick_transform<std::uint16_t>,
          .quick_float32 = quick_transform<float>,
          .add_dots_float = add_dots_float,
          .add_dots_double = add_dots_double,
          .tile_queries = kTileQueries,
          .tile_elements = kTileElements,
          .tiled_dots_float = tiled_dots_float,
          .tiled_dots_double = tiled_dots_double,
          .add_squared_norms_float = add_squared_norms_float,
          .add_squared_norms_double = add_squared_norms_double,
          .mean_float = mean<float>,
          .mean_double = mean<double>,
          .distances_float = distances<float>,
          .distances_double = distances<double>,
          .grow_surrogate_float = grow_surrogate<float>,
          .grow_surrogate_double = grow_surrogate<double>,
          .ranks_float = ranks<float>,
          .ranks_double = ranks<double>,
          .surrogate_shares_float = surrogate_shares<float>,
          .surrogate_shares_double = surrogate_shares<double>,
          .combine_float = combine<float>,
          .combine_double = combine<double>,
          .squared_distances_float = squared_distances<float>,
          .squared_distances_double = squared_distances<double>,
          .accumulate_float = accumulate<float>,
          .accumulate_double = accumulate<double>,
          .power = power,
          .multiply_add_rounds = multiply_add_rounds};
}

}  // namespace
