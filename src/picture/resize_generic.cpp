#include "resize_kernels.hpp"

namespace deepvoro::resize {
namespace {

std::uint8_t level(std::int32_t sum) {
  const std::int32_t value = sum >> kWeightBits;
  return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

void across(const Taps& taps, const std::uint8_t* const* in, std::uint8_t* const* out) {
  for (std::size_t row = 0; row < kRowsAtOnce; ++row)
    for (std::size_t i = 0; i < taps.outputs; ++i) {
      const std::int32_t* weights = taps.weights + i * taps.most;
      const std::uint8_t* pixel = in[row] + static_cast<std::ptrdiff_t>(taps.first[i]) * 3;
      std::int32_t red = kHalf;
      std::int32_t green = kHalf;
      std::int32_t blue = kHalf;
      for (std::int32_t t = 0; t < taps.count[i]; ++t, pixel += 3) {
        red += weights[t] * pixel[0];
        green += weights[t] * pixel[1];
        blue += weights[t] * pixel[2];
      }
      out[row][3 * i] = level(red);
      out[row][3 * i + 1] = level(green);
      out[row][3 * i + 2] = level(blue);
    }
}

void down(const std::int32_t* weights, std::size_t count, const std::uint8_t* in,
          std::size_t stride, std::size_t bytes, std::uint8_t* out) {
  constexpr std::size_t block = 16;
  for (std::size_t x = 0; x < bytes; x += block) {
    std::int32_t sums[block];
    for (std::int32_t& sum : sums) sum = kHalf;
    for (std::size_t t = 0; t < count; ++t)
      for (std::size_t j = 0; j < block; ++j) sums[j] += weights[t] * in[t * stride + x + j];
    for (std::size_t j = 0; j < block; ++j) out[x + j] = level(sums[j]);
  }
}

}  // namespace

const Kernels generic_table{across, down};

}  // namespace deepvoro::resize
