#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace deepvoro {

inline constexpr float kLargestHalf = 65504.0F;

[[nodiscard]] constexpr float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t exponent = half >> 10U & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in float
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide_exponent = exponent == 0x1FU ? 0xFFU : exponent + 112U;
  return std::bit_cast<float>(sign | wide_exponent << 23U | fraction << 13U);
}

// To the nearest half, ties to even. |value| must not be above kLargestHalf.
[[nodiscard]] inline std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16U & 0x8000U);
  const float magnitude = std::abs(value);
  if (magnitude < 0x1p-14F) {
    const float units = std::nearbyint(magnitude * 0x1p24F);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(units));
  }
  const std::uint32_t wide = bits & 0x7FFFFFFFU;
  const std::uint32_t odd = wide >> 13U & 1U;
  const std::uint32_t rounded = (wide + 0xFFFU + odd) >> 13U;
  constexpr std::uint32_t rebias = 112U << 10U;
  return static_cast<std::uint16_t>(sign | (rounded - rebias));
}

[[nodiscard]] constexpr float bfloat16_to_float(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16U);
}

}  // namespace deepvoro
