#pragma once

#include <immintrin.h>

#include <cstddef>

// What AVX2 and AVX-512 have in common.
namespace {

// Joins eight partial sums of each of up to four dot products: neighbours, then neighbours of
// these, then the two that are left, as every level does. What there are no sums for is zero.
template <std::size_t Dots>
__m128 join_eights(const __m256* eight) {
  static_assert(Dots >= 1 && Dots <= 4);
  const __m256 none = _mm256_setzero_ps();
  const __m256 first = _mm256_hadd_ps(eight[0], Dots > 1 ? eight[1] : none);
  const __m256 second = Dots > 2 ? _mm256_hadd_ps(eight[2], Dots > 3 ? eight[3] : none) : none;
  const __m256 four = _mm256_hadd_ps(first, second);
  return _mm_add_ps(_mm256_castps256_ps128(four), _mm256_extractf128_ps(four, 1));
}

}  // namespace
