#pragma once

#include <immintrin.h>

#include <cstddef>

// What AVX2 and AVX-512 have in common.
namespace {

// Joins eight partial sums of each of some dot products (a multiple of four of them): neighbours,
// then neighbours of these, then the two that are left, as every level does.
template <std::size_t Dots>
void join_eights(const __m256 (&eight)[Dots], float* out) {
  for (std::size_t dot = 0; dot < Dots; dot += 4) {
    const __m256 four = _mm256_hadd_ps(_mm256_hadd_ps(eight[dot], eight[dot + 1]),
                                       _mm256_hadd_ps(eight[dot + 2], eight[dot + 3]));
    _mm_store_ps(out + dot,
                 _mm_add_ps(_mm256_castps256_ps128(four), _mm256_extractf128_ps(four, 1)));
  }
}

}  // namespace
