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

inline FloatLanes operator*(const FloatLanes& a, const FloatLanes& b) {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}

inline DoubleLanes operator*(const DoubleLanes& a, const DoubleLanes& b) {
  return {{_mm256_mul_pd(a.part[0], b.part[0]), _mm256_mul_pd(a.part[1], b.part[1]),
           _mm256_mul_pd(a.part[2], b.part[2]), _mm256_mul_pd(a.part[3], b.part[3])}};
}

inline FloatLanes operator/(const FloatLanes& a, const FloatLanes& b) {
  return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}

inline DoubleLanes operator/(const DoubleLanes& a, const DoubleLanes& b) {
  return {{_mm256_div_pd(a.part[0], b.part[0]), _mm256_div_pd(a.part[1], b.part[1]),
           _mm256_div_pd(a.part[2], b.part[2]), _mm256_div_pd(a.part[3], b.part[3])}};
}

inline FloatLanes root(const FloatLanes& a) {
  return {_mm256_sqrt_ps(a.low), _mm256_sqrt_ps(a.high)};
}

inline DoubleLanes root(const DoubleLanes& a) {
  return {{_mm256_sqrt_pd(a.part[0]), _mm256_sqrt_pd(a.part[1]), _mm256_sqrt_pd(a.part[2]),
           _mm256_sqrt_pd(a.part[3])}};
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

inline DoubleLanes widened(const FloatLanes& lanes) {
  return {{_mm256_cvtps_pd(_mm256_castps256_ps128(lanes.low)),
           _mm256_cvtps_pd(_mm256_extractf128_ps(lanes.low, 1)),
           _mm256_cvtps_pd(_mm256_castps256_ps128(lanes.high)),
           _mm256_cvtps_pd(_mm256_extractf128_ps(lanes.high, 1))}};
}

// Sixteen half-precision numbers.
inline FloatLanes load_halves(const std::uint16_t* from) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))),
          _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 8)))};
}

// The sums of four dot products.
inline void join_four(const FloatLanes* sums, float* out) {
  __m256 eight[4];
  for (std::size_t i = 0; i < 4; ++i) eight[i] = _mm256_add_ps(sums[i].low, sums[i].high);
  _mm_storeu_ps(out, join_eights(eight));
}

constexpr std::size_t kRegisterBytes = 32;
constexpr std::size_t kQueryBlock = 2;
constexpr std::size_t kCenterBlock = 5;
constexpr std::size_t kTileRowsAhead = 2;

// Of the sixteen partial sums of Queries x Centers dot products one half, from element `half` on.
// All of them do not fit into the registers at once. kTileRowsAhead rows are fetched
// meanwhile, if it is to Fetch.
template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength, bool Fetch>
[[gnu::always_inline]] inline void half_of_partial_dots(const float* const* queries,
                                                        const float* const* centers,
                                                        std::size_t half, std::size_t length,
                                                        const float* const* later,
                                                        __m256 (&sums)[Centers * Queries]) {
#pragma GCC unroll 32  // or it would be a call of memset
  for (__m256& of_dot : sums) of_dot = _mm256_setzero_ps();
  if (FixedLength > 0) length = FixedLength;
#pragma GCC unroll 8
  for (std::size_t d = 0; d < length; d += 16) {
    if (Fetch)
      for (std::size_t i = 0; i < kTileRowsAhead; ++i) __builtin_prefetch(later[i] + d);
    __m256 q[Queries];
    for (std::size_t i = 0; i < Queries; ++i) q[i] = _mm256_loadu_ps(queries[i] + d + half);
    for (std::size_t k = 0; k < Centers; ++k) {
      const __m256 c = _mm256_loadu_ps(centers[k] + d + half);
      for (std::size_t i = 0; i < Queries; ++i)
        sums[k * Queries + i] = _mm256_fmadd_ps(q[i], c, sums[k * Queries + i]);
    }
  }
}

// Not inlined, or the compiler would mix the two halves.
template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength, bool Fetch>
[[gnu::noinline]] void first_half_of_dots(const float* const* queries, const float* const* centers,
                                          std::size_t length, const float* const* later,
                                          float (*partial)[8]) {
  __m256 sums[Centers * Queries];
  half_of_partial_dots<Queries, Centers, FixedLength, Fetch>(queries, centers, 0, length, later,
                                                             sums);
#pragma GCC unroll 32  // or it would be a call of memcpy
  for (std::size_t i = 0; i < Centers * Queries; ++i) _mm256_store_ps(partial[i], sums[i]);
}

// Calls take(i, four dot products from number i on), where c * Queries + q is the number of
// queries[q] . centers[c]. Those beyond the last are zero. Sixteen partial sums are joined by the
// tree every level follows: first the two halves, then neighbours, then neighbours of these, then
// the two that are left.
template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength, bool Fetch, class Take>
[[gnu::always_inline]] inline void dot_products(const float* const* queries,
                                                const float* const* centers, std::size_t length,
                                                const float* const* later, const Take& take) {
  constexpr std::size_t count = Queries * Centers;
  alignas(32) float partial[count][8];
  first_half_of_dots<Queries, Centers, FixedLength, Fetch>(queries, centers, length, later,
                                                           partial);
  __m256 sums[count];
  half_of_partial_dots<Queries, Centers, FixedLength, false>(queries, centers, 8, length, nullptr,
                                                             sums);
  for (std::size_t dot = 0; dot < count; dot += 4) {
    __m256 eight[4];
    for (std::size_t i = 0; i < 4; ++i)
      eight[i] = dot + i < count ? _mm256_add_ps(_mm256_load_ps(partial[dot + i]), sums[dot + i])
                                 : _mm256_setzero_ps();
    take(dot, join_eights(eight));
  }
}

template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength>
void add_dot_products(const float* const* queries, const float* const* centers, std::size_t length,
                      const Output& out) {
  float dots[Queries * Centers + 3];
  dot_products<Queries, Centers, FixedLength, false>(
      queries, centers, length, nullptr,
      [&](std::size_t first, __m128 four) { _mm_storeu_ps(dots + first, four); });
  for (std::size_t k = 0; k < Centers; ++k)
    for (std::size_t i = 0; i < Queries; ++i) out.at(k, i) += dots[k * Queries + i];
}

constexpr std::size_t kTileQueries = 2;
constexpr std::size_t kTileElements = 12;

template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength>
void tile_of_dots(const float* const* queries, const float* const* centers, std::size_t length,
                  const float* const* later, bool add, float* tile) {
  float dots[Queries * Centers + 3];
  dot_products<Queries, Centers, FixedLength, true>(
      queries, centers, length, later, [&](std::size_t first, __m128 four) {
        if constexpr (Queries == kTileQueries)
          _mm_storeu_ps(tile + first, add ? _mm_add_ps(_mm_loadu_ps(tile + first), four) : four);
        else
          _mm_storeu_ps(dots + first, four);
      });
  if constexpr (Queries != kTileQueries)
    for (std::size_t k = 0; k < Centers; ++k) {
      float& out = tile[k * kTileQueries];
      out = add ? out + dots[k] : dots[k];
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
