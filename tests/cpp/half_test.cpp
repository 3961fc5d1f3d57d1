#include "features/formats/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace deepvoro {
namespace {

TEST(Half, EveryFiniteHalfComesBackFromFloatUnchanged) {
  for (std::uint32_t bits = 0; bits <= 0xFFFFU; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    if ((bits & 0x7C00U) == 0x7C00U)
      EXPECT_FALSE(std::isfinite(value));
    else
      ASSERT_EQ(float_to_half(value), half) << bits;
  }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7BFFU; ++bits) {
    const auto below = static_cast<std::uint16_t>(bits);
    const auto above = static_cast<std::uint16_t>(bits + 1);
    const float middle = (half_to_float(below) + half_to_float(above)) / 2;
    ASSERT_EQ(float_to_half(middle), bits % 2 == 0 ? below : above) << bits;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0F)), below) << bits;
    ASSERT_EQ(float_to_half(std::nextafter(middle, kLargestHalf)), above) << bits;
  }
}

TEST(Half, TakesTinyFloatsToZeroAndKeepsTheSign) {
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(float_to_half(-0.0F), 0x8000);
  EXPECT_EQ(float_to_half(-1.0F), 0xBC00);
  EXPECT_EQ(float_to_half(kLargestHalf), 0x7BFF);
}

}  // namespace
}  // namespace deepvoro
