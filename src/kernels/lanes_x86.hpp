#pragma once

#include <immintrin.h>

#include <cstddef>

#include "output.hpp"

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

template <std::size_t Queries>
void add_one_by_one(__m128 sums, const Output& out, std::size_t center) {
  alignas(16) float of_queries[4];
  _mm_store_ps(of_queries, sums);
  for (std::size_t q = 0; q < Queries; ++q) out.at(center, q) += of_queries[q];
}

}  // namespace
