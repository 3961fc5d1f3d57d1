#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "lanes_x86.hpp"

// Sixteen numbers side by side, in AVX2 registers.
namespace {

struct FloatLanes {
  __m256 low, high;

  static FloatLanes zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static FloatLanes load(const float* from) {
    return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
  }
  static FloatLanes all_of(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  void store(float* to) const {
    _mm256_storeu_ps(to, low);
    _mm256_storeu_ps(to + 8, high);
  }
};

struct DoubleLanes {
  __m256d part[4];

  static DoubleLanes zero() {
    const __m256d none = _mm256_setzero_pd();
    return {{none, none, none, none}};
  }
  static DoubleLanes load(const double* from) {
    return {{_mm256_loadu_pd(from), _mm256_loadu_pd(from + 4), _mm256_loadu_pd(from + 8),
             _mm256_loadu_pd(from + 12)}};
  }
  static DoubleLanes all_of(double x) {
    const __m256d four = _mm256_set1_pd(x);
    return {{four, four, four, four}};
  }
  void store(double* to) const {
    for (std::size_t i = 0; i < 4; ++i) _mm256_storeu_pd(to + 4 * i, part[i]);
  }
};

inline FloatLanes operator+(const FloatLanes& a, const FloatLanes& b) {
  return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}

inline DoubleLanes operator+(const DoubleLanes& a, const DoubleLanes& b) {
  return {{_mm256_add_pd(a.part[0], b.part[0]), _mm256_add_pd(a.part[1], b.part[1]),
           _mm256_add_pd(a.part[2], b.part[2]), _mm256_add_pd(a.part[3], b.part[3])}};
}

inline FloatLanes operator-(const FloatLanes& a, const FloatLanes& b) {
  return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}

inline DoubleLanes operator-(const DoubleLanes& a, const DoubleLanes& b) {
  return {{_mm256_sub_pd(a.part[0], b.part[0]), _mm256_sub_pd(a.part[1], b.part[1]),
           _mm256_sub_pd(a.part[2], b.part[2]), _mm256_sub_pd(a.part[3], b.part[3])}};
}

inline FloatLanes multiply_add(const FloatLanes& a, const FloatLanes& b, const FloatLanes& c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}

inline DoubleLanes multiply_add(const DoubleLanes& a, const DoubleLanes& b, const DoubleLanes& c) {
  return {{_mm256_fmadd_pd(a.part[0], b.part[0], c.part[0]),
           _mm256_fmadd_pd(a.part[1], b.part[1], c.part[1]),
           _mm256_fmadd_pd(a.part[2], b.part[2], c.part[2]),
           _mm256_fmadd_pd(a.part[3], b.part[3], c.part[3])}};
}

inline FloatLanes larger(const FloatLanes& a, const FloatLanes& b) {
  return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
}

// The tree every level follows: 16 sums become 8, 4, 2, 1, each half added to the other.
inline double sum(const DoubleLanes& lanes) {
  const __m256d eight_low = _mm256_add_pd(lanes.part[0], lanes.part[2]);
  const __m256d eight_high = _mm256_add_pd(lanes.part[1], lanes.part[3]);
  const __m256d four = _mm256_add_pd(eight_low, eight_high);
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

inline double sum(const FloatLanes& lanes) {
  return sum(DoubleLanes{{_mm256_cvtps_pd(_mm256_castps256_ps128(lanes.low)),
                          _mm256_cvtps_pd(_mm256_extractf128_ps(lanes.low, 1)),
                          _mm256_cvtps_pd(_mm256_castps256_ps128(lanes.high)),
                          _mm256_cvtps_pd(_mm256_extractf128_ps(lanes.high, 1))}});
}

constexpr std::size_t kQueryBlock = 2;

// One half of the sixteen partial sums of Queries x Centers dot products. Half, because all of them
// do not fit into the registers at once; not inlined, because the compiler would try to.
template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength, std::size_t Ahead>
[[gnu::noinline]] void half_of_partial_dots(const float* const* queries,
                                            const float* const* centers, std::size_t half,
                                            std::size_t length, float (*partial)[16],
                                            const float* const* ahead) {
  __m256 sums[Queries][Centers];
  for (auto& of_query : sums)
    for (__m256& of_dot : of_query) of_dot = _mm256_setzero_ps();
  if (FixedLength > 0) length = FixedLength;
#pragma GCC unroll 8
  for (std::size_t d = 0; d < length; d += 16) {
    for (std::size_t i = 0; i < Ahead; ++i) __builtin_prefetch(ahead[i] + d);
    __m256 q[Queries];
    for (std::size_t i = 0; i < Queries; ++i) q[i] = _mm256_loadu_ps(queries[i] + d + half);
    for (std::size_t k = 0; k < Centers; ++k) {
      const __m256 c = _mm256_loadu_ps(centers[k] + d + half);
      for (std::size_t i = 0; i < Queries; ++i) sums[i][k] = _mm256_fmadd_ps(q[i], c, sums[i][k]);
    }
  }
  for (std::size_t i = 0; i < Queries; ++i)
    for (std::size_t k = 0; k < Centers; ++k)
      _mm256_store_ps(partial[k * Queries + i] + half, sums[i][k]);
}

// Adds queries[q] . centers[c] to out.at(c, q). Sixteen partial sums are joined by the tree
// every level follows: first the two halves, then neighbours, then neighbours of these, then the
// two that are left.
template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength, std::size_t Ahead>
void add_dot_products(const float* const* queries, const float* const* centers, std::size_t length,
                      const float* const* ahead, const Output& out) {
  alignas(32) float partial[Centers * Queries][16];
  half_of_partial_dots<Queries, Centers, FixedLength, Ahead>(queries, centers, 0, length, partial,
                                                             ahead);
  half_of_partial_dots<Queries, Centers, FixedLength, 0>(queries, centers, 8, length, partial,
                                                         nullptr);
  for (std::size_t k = 0; k < Centers; ++k) {
    __m256 eight[Queries];
    for (std::size_t i = 0; i < Queries; ++i) {
      const float* of_dot = partial[k * Queries + i];
      eight[i] = _mm256_add_ps(_mm256_load_ps(of_dot), _mm256_load_ps(of_dot + 8));
    }
    add_one_by_one<Queries>(join_eights<Queries>(eight), out, k);
  }
}

inline void widen_half(const std::uint16_t* from, std::size_t count, float* to) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
  }
  for (; i < count; ++i) to[i] = _cvtsh_ss(from[i]);
}

inline void widen_half(const std::uint16_t* from, std::size_t count, double* to) {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m128i halves = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_pd(to + i, _mm256_cvtps_pd(_mm_cvtph_ps(halves)));
  }
  for (; i < count; ++i) to[i] = static_cast<double>(_cvtsh_ss(from[i]));
}

}  // namespace
