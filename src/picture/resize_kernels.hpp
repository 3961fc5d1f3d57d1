#pragma once

#include <cstddef>
#include <cstdint>

// The two loops of a resize, in whole numbers, so that every instruction set gives the same bits.
// This header is compiled with instruction-set flags: it must not use the standard library.
namespace deepvoro::resize {

constexpr int kWeightBits = 22;  // as in Pillow: 8 for the pixel, 2 for sums beyond the range
constexpr std::int32_t kHalf = std::int32_t{1} << (kWeightBits - 1);
// A weight is upper * 2^kLowerBits + lower, both of 16 bits.
constexpr int kLowerBits = 11;

constexpr std::size_t kRowsAtOnce = 4;
constexpr std::size_t kGroup = 4;    // inputs that `across` takes at once
constexpr std::size_t kSlack = 32;   // bytes behind a row that may be read and written
constexpr std::size_t kSpread = 16;  // numbers a group of weights takes in `spread`, for each half

// Output i is the sum of inputs first[i] .. first[i] + count[i] - 1, weighted.
struct Taps {
  std::size_t outputs;
  std::size_t most;  // weights of output i begin at weights[i * most]
  const std::int32_t* first;
  const std::int32_t* count;
  const std::int32_t* weights;  // times 2^kWeightBits
  std::size_t most_groups;      // of output i, `spread` begins at i * most_groups * 2 * kSpread
  const std::int16_t* spread;   // laid out for `across`; upper halves of a group, then lower
};

struct Kernels {
  // kRowsAtOnce rows of pixels, each with kSlack.
  void (*across)(const Taps& taps, const std::uint8_t* const* in, std::uint8_t* const* out);
  // One output row of `bytes` bytes; rows of `in` are `stride` apart, all with kSlack.
  void (*down)(const std::int32_t* weights, std::size_t count, const std::uint8_t* in,
               std::size_t stride, std::size_t bytes, std::uint8_t* out);
};

extern const Kernels generic_table;
#ifdef DEEPVORO_X86_KERNELS
extern const Kernels avx2_table;
#endif

}  // namespace deepvoro::resize
