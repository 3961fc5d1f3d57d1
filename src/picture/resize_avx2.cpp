#include <immintrin.h>

#include "resize_kernels.hpp"

namespace deepvoro::resize {
namespace {

__m256i load(const void* address) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(address));
}

__m128i load_half(const void* address) {
  return _mm_loadu_si128(static_cast<const __m128i*>(address));
}

// Two 16-bit products are added by one instruction; the two halves of the weights make them exact.
struct Sums {
  __m256i upper;
  __m256i lower;

  explicit Sums(__m256i start) : upper(_mm256_setzero_si256()), lower(start) {}
  void add(__m256i pairs, __m256i upper_weights, __m256i lower_weights) {
    upper = _mm256_add_epi32(upper, _mm256_madd_epi16(pairs, upper_weights));
    lower = _mm256_add_epi32(lower, _mm256_madd_epi16(pairs, lower_weights));
  }
  [[nodiscard]] __m256i joined() const {
    return _mm256_add_epi32(_mm256_slli_epi32(upper, kLowerBits), lower);
  }
};

// One pixel of `a` and one of `b`; each was summed in two halves, for the even and the odd pairs.
__m256i levels_of_two(const Sums& a, const Sums& b) {
  const __m256i of_a = a.joined();
  const __m256i of_b = b.joined();
  const __m256i sum = _mm256_add_epi32(_mm256_permute2x128_si256(of_a, of_b, 0x20),
                                       _mm256_permute2x128_si256(of_a, of_b, 0x31));
  return _mm256_srai_epi32(sum, kWeightBits);
}

void store_pixel(std::uint8_t* out, int pixel) {
  __builtin_memcpy(out, &pixel, sizeof pixel);
}

void across(const Taps& taps, const std::uint8_t* const* in, std::uint8_t* const* out) {
  // Of the pixels R0 G0 B0 R1 G1 B1 ... makes R0 R1 G0 G1 B0 B1 0 0 and R2 R3 G2 G3 B2 B3 0 0.
  const __m256i pairs_of_pixels =
      _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1,  //
                       6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  const __m256i start = _mm256_setr_epi32(kHalf, kHalf, kHalf, kHalf, 0, 0, 0, 0);
  for (std::size_t i = 0; i < taps.outputs; ++i) {
    const std::int16_t* spread = taps.spread + i * taps.most_groups * 2 * kSpread;
    const std::size_t groups = (static_cast<std::size_t>(taps.count[i]) + kGroup - 1) / kGroup;
    std::size_t at = static_cast<std::size_t>(taps.first[i]) * 3;
    Sums sums[] = {Sums(start), Sums(start), Sums(start), Sums(start)};
    static_assert(sizeof sums == kRowsAtOnce * sizeof(Sums));
    for (std::size_t g = 0; g < groups; ++g, at += kGroup * 3, spread += 2 * kSpread) {
      const __m256i upper = load(spread);
      const __m256i lower = load(spread + kSpread);
      for (std::size_t row = 0; row < kRowsAtOnce; ++row)
        sums[row].add(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load_half(in[row] + at)),
                                          pairs_of_pixels),
                      upper, lower);
    }
    const __m256i words = _mm256_packs_epi32(levels_of_two(sums[0], sums[1]),  //
                                             levels_of_two(sums[2], sums[3]));
    const __m256i pixels = _mm256_packus_epi16(words, words);
    const __m128i even_rows = _mm256_castsi256_si128(pixels);
    const __m128i odd_rows = _mm256_extracti128_si256(pixels, 1);
    store_pixel(out[0] + 3 * i, _mm_cvtsi128_si32(even_rows));
    store_pixel(out[1] + 3 * i, _mm_cvtsi128_si32(odd_rows));
    store_pixel(out[2] + 3 * i, _mm_extract_epi32(even_rows, 1));
    store_pixel(out[3] + 3 * i, _mm_extract_epi32(odd_rows, 1));
  }
}

__m256i weight_pair(std::int32_t even, std::int32_t odd) {
  return _mm256_set1_epi32((even & 0xFFFF) |
                           static_cast<std::int32_t>(static_cast<std::uint32_t>(odd) << 16U));
}

void down(const std::int32_t* weights, std::size_t count, const std::uint8_t* in,
          std::size_t stride, std::size_t bytes, std::uint8_t* out) {
  constexpr std::int32_t mask = (1 << kLowerBits) - 1;
  constexpr std::size_t block = 32;
  const __m256i half = _mm256_set1_epi32(kHalf);
  for (std::size_t x = 0; x < bytes; x += block) {
    // Of columns 0-3 16-19, 4-7 20-23, 8-11 24-27, 12-15 28-31.
    Sums sums[] = {Sums(half), Sums(half), Sums(half), Sums(half)};
    for (std::size_t t = 0; t < count; t += 2) {
      const bool alone = t + 1 == count;
      const std::int32_t second = alone ? 0 : weights[t + 1];
      const __m256i even = load(in + t * stride + x);
      const __m256i odd = alone ? even : load(in + (t + 1) * stride + x);
      const __m256i upper = weight_pair(weights[t] >> kLowerBits, second >> kLowerBits);
      const __m256i lower = weight_pair(weights[t] & mask, second & mask);
      const __m256i zero = _mm256_setzero_si256();
      const __m256i left = _mm256_unpacklo_epi8(even, odd);
      const __m256i right = _mm256_unpackhi_epi8(even, odd);
      sums[0].add(_mm256_unpacklo_epi8(left, zero), upper, lower);
      sums[1].add(_mm256_unpackhi_epi8(left, zero), upper, lower);
      sums[2].add(_mm256_unpacklo_epi8(right, zero), upper, lower);
      sums[3].add(_mm256_unpackhi_epi8(right, zero), upper, lower);
    }
    __m256i levels[4];
    for (std::size_t j = 0; j < 4; ++j)
      levels[j] = _mm256_srai_epi32(sums[j].joined(), kWeightBits);
    const __m256i packed = _mm256_packus_epi16(_mm256_packs_epi32(levels[0], levels[1]),
                                               _mm256_packs_epi32(levels[2], levels[3]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + x), packed);
  }
}

}  // namespace

const Kernels avx2_table{across, down};

}  // namespace deepvoro::resize
