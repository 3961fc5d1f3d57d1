#pragma once

#include <immintrin.h>

#include <cstddef>

#include "output.hpp"

// What AVX2 and AVX-512 have in common.
namespace {

// Joins eight partial sums of each of four dot products: neighbours, then neighbours of these, then
// the two that are left, as every level does.
inline __m128 join_eights(const __m256* eight) {
  const __m256 four =
      _mm256_hadd_ps(_mm256_hadd_ps(eight[0], eight[1]), _mm256_hadd_ps(eight[2], eight[3]));
  return _mm_add_ps(_mm256_castps256_ps128(four), _mm256_extractf128_ps(four, 1));
}

}  // namespace
