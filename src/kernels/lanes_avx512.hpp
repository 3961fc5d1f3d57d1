#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

// Sixteen numbers side by side, in AVX-512 registers.
namespace {

struct FloatLanes {
  __m512 all;

  static FloatLanes zero() { return {_mm512_setzero_ps()}; }
  static FloatLanes load(const float* from) { return {_mm512_loadu_ps(from)}; }
};

struct DoubleLanes {
  __m512d low, high;

  static DoubleLanes zero() { return {_mm512_setzero_pd(), _mm512_setzero_pd()}; }
  static DoubleLanes load(const double* from) {
    return {_mm512_loadu_pd(from), _mm512_loadu_pd(from + 8)};
  }
};

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

inline void widen_half(const std::uint16_t* from, std::size_t count, double* to) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm512_storeu_pd(to + i, _mm512_cvtps_pd(_mm256_cvtph_ps(halves)));
  }
  for (; i < count; ++i) to[i] = static_cast<double>(_cvtsh_ss(from[i]));
}

}  // namespace
