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

inline FloatLanes operator*(const FloatLanes& a, const FloatLanes& b) {
  return {_mm512_mul_ps(a.all, b.all)};
}

inline DoubleLanes operator*(const DoubleLanes& a, const DoubleLanes& b) {
  return {_mm512_mul_pd(a.low, b.low), _mm512_mul_pd(a.high, b.high)};
}

inline FloatLanes operator/(const FloatLanes& a, const FloatLanes& b) {
  return {_mm512_div_ps(a.all, b.all)};
}

inline DoubleLanes operator/(const DoubleLanes& a, const DoubleLanes& b) {
  return {_mm512_div_pd(a.low, b.low), _mm512_div_pd(a.high, b.high)};
}

inline FloatLanes root(const FloatLanes& a) {
  return {_mm512_sqrt_ps(a.all)};
}

inline DoubleLanes root(const DoubleLanes& a) {
  return {_mm512_sqrt_pd(a.low), _mm512_sqrt_pd(a.high)};
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

inline DoubleLanes widened(const FloatLanes& lanes) {
  return {_mm512_cvtps_pd(_mm512_castps512_ps256(lanes.all)),
          _mm512_cvtps_pd(_mm512_extractf32x8_ps(lanes.all, 1))};
}

// Sixteen half-precision numbers.
inline FloatLanes load_halves(const std::uint16_t* from) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)))};
}

// The sums of four dot products.
inline void join_four(const FloatLanes* sums, float* out) {
  __m256 eight[4];
  for (std::size_t i = 0; i < 4; ++i)
    eight[i] =
        _mm256_add_ps(_mm512_castps512_ps256(sums[i].all), _mm512_extractf32x8_ps(sums[i].all, 1));
  _mm_storeu_ps(out, join_eights(eight));
}

// The sums of the two halves of a, and those of b.
inline __m512 add_halves(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
}

// In each quarter, two sums of neighbours of a and two of b.
inline __m512 add_neighbours(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xDD));
}

// Joins the sixteen partial sums of each of sixteen dot products by the tree every level follows:
// first the two halves, then neighbours, then neighbours of these, then the two that are left.
inline __m512 join_sixteens(const __m512* sums) {
  // Which of them are joined first, so that the results are in order.
  constexpr std::size_t from[16] = {0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15};
  __m512 quarters[2];
  for (std::size_t i = 0; i < 2; ++i) {
    __m512 eights[4];
    for (std::size_t j = 0; j < 4; ++j)
      eights[j] = add_halves(sums[from[8 * i + 2 * j]], sums[from[8 * i + 2 * j + 1]]);
    quarters[i] =
        add_neighbours(add_neighbours(eights[0], eights[1]), add_neighbours(eights[2], eights[3]));
  }
  return _mm512_add_ps(_mm512_shuffle_f32x4(quarters[0], quarters[1], 0x88),
                       _mm512_shuffle_f32x4(quarters[0], quarters[1], 0xDD));
}

constexpr std::size_t kRegisterBytes = 64;
// Sixteen dot products are joined at a time: of four queries with four centers, or three with five.
constexpr std::size_t kQueryBlock = 4;
constexpr std::size_t kCenterBlock = 4;
constexpr std::size_t kTileQueries = 3;
constexpr std::size_t kTileElements = 16;
constexpr std::size_t kTileRowsAhead = 4;

// sums[c * Queries + q]: sixteen partial sums of queries[q] . centers[c]. A loop of a length the
// compiler knows is unrolled as a whole; its end would otherwise be mispredicted each time.
// kTileRowsAhead rows are fetched meanwhile, if it is to Fetch.
template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength, bool Fetch>
[[gnu::always_inline]] inline void partial_dots(const float* const* queries,
                                                const float* const* centers, std::size_t length,
                                                const float* const* later, __m512* sums) {
#pragma GCC unroll 32  // or it would be a call of memset
  for (std::size_t i = 0; i < Queries * Centers; ++i) sums[i] = _mm512_setzero_ps();
  if (FixedLength > 0) length = FixedLength;
#pragma GCC unroll 8
  for (std::size_t d = 0; d < length; d += 16) {
    if (Fetch)
      for (std::size_t a = 0; a < kTileRowsAhead; ++a) __builtin_prefetch(later[a] + d);
    __m512 q[Queries];
    for (std::size_t i = 0; i < Queries; ++i) q[i] = _mm512_loadu_ps(queries[i] + d);
    for (std::size_t k = 0; k < Centers; ++k) {
      const __m512 c = _mm512_loadu_ps(centers[k] + d);
      for (std::size_t i = 0; i < Queries; ++i)
        sums[k * Queries + i] = _mm512_fmadd_ps(q[i], c, sums[k * Queries + i]);
    }
  }
}

// Joins sums[c * Queries + q] into element c * Across + q of the result; the others are zero.
template <std::size_t Queries, std::size_t Centers, std::size_t Across>
[[gnu::always_inline]] inline __m512 join_dots(const __m512* sums) {
  __m512 in_place[16];
  for (std::size_t place = 0; place < 16; ++place) {
    const std::size_t query = place % Across;
    const std::size_t center = place / Across;
    in_place[place] =
        query < Queries && center < Centers ? sums[center * Queries + query] : _mm512_setzero_ps();
  }
  return join_sixteens(in_place);
}

// Adds queries[q] . centers[c] to out.at(c, q).
template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength>
void add_dot_products(const float* const* queries, const float* const* centers, std::size_t length,
                      const Output& out) {
  __m512 sums[Queries * Centers];
  partial_dots<Queries, Centers, FixedLength, false>(queries, centers, length, nullptr, sums);
  constexpr std::size_t across = Centers > kCenterBlock ? kTileQueries : kQueryBlock;
  alignas(64) float dots[16];
  _mm512_store_ps(dots, join_dots<Queries, Centers, across>(sums));
  for (std::size_t k = 0; k < Centers; ++k) {
    if (out.query_stride != 1) {
      for (std::size_t i = 0; i < Queries; ++i) out.at(k, i) += dots[across * k + i];
      continue;
    }
    constexpr __mmask8 present = (1U << Queries) - 1U;
    float* to = &out.at(k, 0);
    _mm_mask_storeu_ps(to, present,
                       _mm_add_ps(_mm_maskz_loadu_ps(present, to),
                                  _mm_maskz_loadu_ps(present, dots + across * k)));
  }
}

template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength>
void tile_of_dots(const float* const* queries, const float* const* centers, std::size_t length,
                  const float* const* later, bool add, float* tile) {
  __m512 sums[Queries * Centers];
  partial_dots<Queries, Centers, FixedLength, true>(queries, centers, length, later, sums);
  const __m512 dots = join_dots<Queries, Centers, kTileQueries>(sums);
  _mm512_storeu_ps(tile, add ? _mm512_add_ps(_mm512_loadu_ps(tile), dots) : dots);
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
