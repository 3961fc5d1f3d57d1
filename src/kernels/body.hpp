// The kernels, written once. A file lanes_*.hpp must be included first: it decides which
// instruction set this body is compiled for.
#pragma once

#include "deepvoro/core/matrix.hpp"
#include "deepvoro/kernels/kernels.hpp"
#include "elementary.hpp"

namespace {

namespace dk = deepvoro::kernels;

inline DoubleLanes load_lanes(const double* from) {
  return DoubleLanes::load(from);
}
inline FloatLanes load_lanes(const float* from) {
  return FloatLanes::load(from);
}

// Squared distances of one query to `Count` centers, whose partial sums stay in registers.
template <std::size_t Count, class Real>
void squared_distances_block(const Real* query, const Real* centers, std::size_t stride,
                             std::size_t length, double* out) {
  using LanesOf = decltype(load_lanes(query));
  LanesOf partial[Count];
  for (auto& lanes : partial) lanes = LanesOf::zero();
  for (std::size_t d = 0; d < length; d += 16) {
    const LanesOf q = load_lanes(query + d);
    for (std::size_t c = 0; c < Count; ++c) {
      const LanesOf difference = q - load_lanes(centers + c * stride + d);
      partial[c] = multiply_add(difference, difference, partial[c]);
    }
  }
  for (std::size_t c = 0; c < Count; ++c) out[c] = sum(partial[c]);
}

template <class Real>
void squared_distances(const Real* query, const Real* centers, std::size_t stride,
                       std::size_t count, std::size_t length, double* out) {
  std::size_t c = 0;
  const auto block = [&]<std::size_t Count>() {
    squared_distances_block<Count>(query, centers + c * stride, stride, length, out + c);
    c += Count;
  };
  while (count - c > 5) block.template operator()<4>();
  switch (count - c) {
    case 5:
      return block.template operator()<5>();
    case 4:
      return block.template operator()<4>();
    case 3:
      return block.template operator()<3>();
    case 2:
      return block.template operator()<2>();
    case 1:
      return block.template operator()<1>();
    default:
      return;
  }
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

template <class Function>
void each(double* row, std::size_t dim, Function function) {
  for (std::size_t i = 0; i < dim; ++i) row[i] = function(row[i]);
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

void power(double* values, std::size_t count, double exponent) {
  if (exponent == 1) return;
  if (exponent == 2) return each(values, count, [](double x) { return x * x; });
  if (exponent == 0.5) return each(values, count, [](double x) { return sqrt(x); });
  if (exponent == -1) return each(values, count, [](double x) { return 1 / x; });
  if (exponent == -2) return each(values, count, [](double x) { return 1 / (x * x); });
  each(values, count, [exponent](double x) { return real_power(x, exponent); });
}

constexpr dk::Table make_table(dk::Level level) {
  return {level,
          widen_float16,
          widen_float32,
          transform,
          squared_distances<float>,
          squared_distances<double>,
          power};
}

}  // namespace
