#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "lanes_x86.hpp"

// Sixteen numbers side by side, in AVX-512 registers.
namespace {

struct FloatLanes {
  __m512 all;

  static FloatLanes zero() { return {_mm512_setzero_ps()}; }
  static FloatLanes load(const float* from) { return {_mm512_loadu_ps(from)}; }
  static FloatLanes all_of(float x) { return {_mm512_set1_ps(x)}; }
  void store(float* to) const { _mm512_storeu_ps(to, all); }
};

struct DoubleLanes {
  __m512d low, high;

  static DoubleLanes zero() { return {_mm512_setzero_pd(), _mm512_setzero_pd()}; }
  static DoubleLanes load(const double* from) {
    return {_mm512_loadu_pd(from), _mm512_loadu_pd(from + 8)};
  }
  static DoubleLanes all_of(double x) { return {_mm512_set1_pd(x), _mm512_set1_pd(x)}; }
  void store(double* to) const {
    _mm512_storeu_pd(to, low);
    _mm512_storeu_pd(to + 8, high);
  }
};

inline FloatLanes operator+(const FloatLanes& a, const FloatLanes& b) {
  return {_mm512_add_ps(a.all, b.all)};
}

inline DoubleLanes operator+(const DoubleLanes& a, const DoubleLanes& b) {
  return {_mm512_add_pd(a.low, b.low), _mm512_add_pd(a.high, b.high)};
}

inline FloatLanes operator-(const FloatLanes& a, const FloatLanes& b) {
  return {_mm512_sub_ps(a.all, b.all)};
}

inline DoubleLanes operator-(const DoubleLanes& a, const DoubleLanes& b) {
  return {_mm512_sub_pd(a.low, b.low), _mm512_sub_pd(a.high, b.high)};
}

inline FloatLanes multiply_add(const FloatLanes& a, const FloatLanes& b, const FloatLanes& c) {
  return {_mm512_fmadd_ps(a.all, b.all, c.all)};
}

inline DoubleLanes multiply_add(const DoubleLanes& a, const DoubleLanes& b, const DoubleLanes& c) {
  return {_mm512_fmadd_pd(a.low, b.low, c.low), _mm512_fmadd_pd(a.high, b.high, c.high)};
}

inline FloatLanes larger(const FloatLanes& a, const FloatLanes& b) {
  return {_mm512_max_ps(a.all, b.all)};
}

// The tree every level follows: 16 sums become 8, 4, 2, 1, each half added to the other.
inline double sum(const DoubleLanes& lanes) {
  const __m512d eight = _mm512_add_pd(lanes.low, lanes.high);
  const __m256d four =
      _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

inline double sum(const FloatLanes& lanes) {
  return sum(DoubleLanes{_mm512_cvtps_pd(_mm512_castps512_ps256(lanes.all)),
                         _mm512_cvtps_pd(_mm512_extractf32x8_ps(lanes.all, 1))});
}

constexpr std::size_t kQueryBlock = 4;

// Adds queries[q] . centers[c] to out.at(c, q). Sixteen partial sums are joined by the tree
// every level follows: first the two halves, then neighbours, then neighbours of these, then the
// two that are left. A loop of a length the compiler knows is unrolled as a whole; its end would
// otherwise be mispredicted each time.
template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength, std::size_t Ahead>
void add_dot_products(const float* const* queries, const float* const* centers, std::size_t length,
                      const float* const* ahead, const Output& out) {
  static_assert(Queries <= 4);
  __m512 sums[Centers][Queries];
  for (auto& of_center : sums)
    for (__m512& of_dot : of_center) of_dot = _mm512_setzero_ps();
  if (FixedLength > 0) length = FixedLength;
#pragma GCC unroll 8
  for (std::size_t d = 0; d < length; d += 16) {
    for (std::size_t i = 0; i < Ahead; ++i) __builtin_prefetch(ahead[i] + d);
    __m512 q[Queries];
    for (std::size_t i = 0; i < Queries; ++i) q[i] = _mm512_loadu_ps(queries[i] + d);
    for (std::size_t k = 0; k < Centers; ++k) {
      const __m512 c = _mm512_loadu_ps(centers[k] + d);
      for (std::size_t i = 0; i < Queries; ++i) sums[k][i] = _mm512_fmadd_ps(q[i], c, sums[k][i]);
    }
  }
  for (std::size_t k = 0; k < Centers; ++k) {
    __m256 eight[Queries];
    for (std::size_t i = 0; i < Queries; ++i)
      eight[i] =
          _mm256_add_ps(_mm512_castps512_ps256(sums[k][i]), _mm512_extractf32x8_ps(sums[k][i], 1));
    const __m128 joined = join_eights<Queries>(eight);
    if (out.query_stride != 1) {
      add_one_by_one<Queries>(joined, out, k);
      continue;
    }
    constexpr __mmask8 present = (1U << Queries) - 1U;
    float* to = &out.at(k, 0);
    _mm_mask_storeu_ps(to, present, _mm_add_ps(_mm_maskz_loadu_ps(present, to), joined));
  }
}

inline void widen_half(const std::uint16_t* from, std::size_t count, float* to) {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    _mm512_storeu_ps(to + i, _mm512_cvtph_ps(halves));
  }
  for (; i < count; ++i) to[i] = _cvtsh_ss(from[i]);
}

inline void widen_half(const std::uint16_t* from, std::size_t count, double* to) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm512_storeu_pd(to + i, _mm512_cvtps_pd(_mm256_cvtph_ps(halves)));
  }
  for (; i < count; ++i) to[i] = static_cast<double>(_cvtsh_ss(from[i]));
}

}  // namespace
