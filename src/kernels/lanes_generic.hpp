#pragma once

#include <math.h>

#include <cstddef>
#include <cstdint>

#include "output.hpp"

// Sixteen numbers side by side, in plain C++.
namespace {

template <class T>
struct Lanes {
  T value[16];

  static Lanes zero() { return {}; }
  static Lanes load(const T* from) {
    Lanes lanes;
    for (std::size_t i = 0; i < 16; ++i) lanes.value[i] = from[i];
    return lanes;
  }
  static Lanes all_of(T x) {
    Lanes lanes;
    for (T& lane : lanes.value) lane = x;
    return lanes;
  }
  void store(T* to) const {
    for (std::size_t i = 0; i < 16; ++i) to[i] = value[i];
  }
};

using FloatLanes = Lanes<float>;
using DoubleLanes = Lanes<double>;

template <class T>
Lanes<T> operator+(const Lanes<T>& a, const Lanes<T>& b) {
  Lanes<T> result;
  for (std::size_t i = 0; i < 16; ++i) result.value[i] = a.value[i] + b.value[i];
  return result;
}

template <class T>
Lanes<T> operator-(const Lanes<T>& a, const Lanes<T>& b) {
  Lanes<T> result;
  for (std::size_t i = 0; i < 16; ++i) result.value[i] = a.value[i] - b.value[i];
  return result;
}

template <class T>
Lanes<T> operator*(const Lanes<T>& a, const Lanes<T>& b) {
  Lanes<T> result;
  for (std::size_t i = 0; i < 16; ++i) result.value[i] = a.value[i] * b.value[i];
  return result;
}

template <class T>
Lanes<T> operator/(const Lanes<T>& a, const Lanes<T>& b) {
  Lanes<T> result;
  for (std::size_t i = 0; i < 16; ++i) result.value[i] = a.value[i] / b.value[i];
  return result;
}

inline FloatLanes root(const FloatLanes& a) {
  FloatLanes result;
  for (std::size_t i = 0; i < 16; ++i) result.value[i] = sqrtf(a.value[i]);
  return result;
}

inline DoubleLanes root(const DoubleLanes& a) {
  DoubleLanes result;
  for (std::size_t i = 0; i < 16; ++i) result.value[i] = sqrt(a.value[i]);
  return result;
}

inline FloatLanes multiply_add(const FloatLanes& a, const FloatLanes& b, const FloatLanes& c) {
  FloatLanes result;
  for (std::size_t i = 0; i < 16; ++i) result.value[i] = fmaf(a.value[i], b.value[i], c.value[i]);
  return result;
}

inline DoubleLanes multiply_add(const DoubleLanes& a, const DoubleLanes& b, const DoubleLanes& c) {
  DoubleLanes result;
  for (std::size_t i = 0; i < 16; ++i) result.value[i] = fma(a.value[i], b.value[i], c.value[i]);
  return result;
}

inline FloatLanes larger(const FloatLanes& a, const FloatLanes& b) {
  FloatLanes result;
  for (std::size_t i = 0; i < 16; ++i)
    result.value[i] = a.value[i] > b.value[i] ? a.value[i] : b.value[i];
  return result;
}

// The tree every level follows: 16 sums become 8, 4, 2, 1, each half added to the other.
inline double sum(DoubleLanes lanes) {
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lanes.value[i] += lanes.value[i + half];
  return lanes.value[0];
}

inline DoubleLanes widened(const FloatLanes& lanes) {
  DoubleLanes wide;
  for (std::size_t i = 0; i < 16; ++i) wide.value[i] = static_cast<double>(lanes.value[i]);
  return wide;
}

template <class Real>
void widen_half(const std::uint16_t* from, std::size_t count, Real* to) {
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned exponent = (from[i] >> 10U) & 0x1FU;
    const auto fraction = static_cast<double>(from[i] & 0x3FFU);
    const double magnitude = exponent == 0 ? ldexp(fraction, -24)
                             : exponent == 31
                                 ? (fraction == 0 ? HUGE_VAL : nan(""))
                                 : ldexp(fraction + 1024, static_cast<int>(exponent) - 25);
    to[i] = static_cast<Real>((from[i] & 0x8000U) != 0 ? -magnitude : magnitude);
  }
}

// Sixteen half-precision numbers.
inline FloatLanes load_halves(const std::uint16_t* from) {
  FloatLanes lanes;
  widen_half(from, 16, lanes.value);
  return lanes;
}

// Joins sixteen partial sums by the tree every level follows: first the two halves, then
// neighbours, then neighbours of these, then the two that are left.
inline float join(const FloatLanes& sums) {
  float eight[8];
  for (std::size_t i = 0; i < 8; ++i) eight[i] = sums.value[i] + sums.value[i + 8];
  return ((eight[0] + eight[1]) + (eight[2] + eight[3])) +
         ((eight[4] + eight[5]) + (eight[6] + eight[7]));
}

// The sums of four dot products.
inline void join_four(const FloatLanes* sums, float* out) {
  for (std::size_t i = 0; i < 4; ++i) out[i] = join(sums[i]);
}

constexpr std::size_t kRegisterBytes = 16;
constexpr std::size_t kQueryBlock = 1;
constexpr std::size_t kCenterBlock = 5;

inline float dot_product(const float* query, const float* center, std::size_t length) {
  FloatLanes sums = FloatLanes::zero();
  for (std::size_t d = 0; d < length; d += 16)
    sums = multiply_add(FloatLanes::load(query + d), FloatLanes::load(center + d), sums);
  return join(sums);
}

// Adds queries[q] . centers[c] to out.at(c, q).
template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength>
void add_dot_products(const float* const* queries, const float* const* centers, std::size_t length,
                      const Output& out) {
  for (std::size_t c = 0; c < Centers; ++c)
    for (std::size_t q = 0; q < Queries; ++q)
      out.at(c, q) += dot_product(queries[q], centers[c], length);
}

constexpr std::size_t kTileQueries = 1;
constexpr std::size_t kTileElements = 5;
constexpr std::size_t kTileRowsAhead = 1;

template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength>
void tile_of_dots(const float* const* queries, const float* const* centers, std::size_t length,
                  const float* const* /*later*/, bool add, float* tile) {
  for (std::size_t c = 0; c < Centers; ++c) {
    const float dot = dot_product(queries[0], centers[c], length);
    tile[c] = add ? tile[c] + dot : dot;
  }
}

}  // namespace
