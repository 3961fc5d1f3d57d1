#pragma once

#include <math.h>

#include <cstdint>
#include <cstring>

// Logarithm and exponential of doubles, written so that the compiler vectorises loops over them
// and so that every instruction set gives the same bits: only IEEE operations, fma spelled out.
// <math.h> instead of <cmath>: no inline function of the standard library may be emitted here,
// for the linker could pick the copy that was compiled for a newer processor.
namespace {

inline std::uint64_t bits_of(double x) {
  std::uint64_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline double from_bits(std::uint64_t bits) {
  double x = 0;
  memcpy(&x, &bits, sizeof x);
  return x;
}

constexpr double kLn2High = 0x1.62e42fefap-1;      // the leading 36 bits of ln 2: times an exponent
constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;  // it is exact; and what is left of ln 2

// Natural logarithm of a positive finite number, to 2 ulp.
inline double natural_log(double x) {
  constexpr double smallest_normal = 0x1p-1022;
  const bool subnormal = x < smallest_normal;
  const std::uint64_t bits = bits_of(subnormal ? x * 0x1p54 : x);

  // x = mantissa * 2^exponent, mantissa in [1/sqrt 2, sqrt 2). The exponent becomes a double by
  // way of the low bits of 2^52, since AVX2 has no conversion from 64-bit integers.
  const double biased = from_bits(bits >> 52U | 0x4330000000000000U) - 0x1p52;
  const double one_to_two = from_bits((bits & 0x000FFFFFFFFFFFFFU) | 0x3FF0000000000000U);
  const bool upper = one_to_two > 0x1.6a09e667f3bcdp0;
  const double mantissa = upper ? one_to_two * 0.5 : one_to_two;
  const double exponent = biased - (subnormal ? 1077.0 : 1023.0) + (upper ? 1.0 : 0.0);

  // ln m = 2 atanh(s), s = (m-1)/(m+1): s + s^3/3 + s^5/5 + ..., |s| < 0.172.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double s2 = s * s;
  double tail = 1.0 / 23;
  tail = fma(tail, s2, 1.0 / 21);
  tail = fma(tail, s2, 1.0 / 19);
  tail = fma(tail, s2, 1.0 / 17);
  tail = fma(tail, s2, 1.0 / 15);
  tail = fma(tail, s2, 1.0 / 13);
  tail = fma(tail, s2, 1.0 / 11);
  tail = fma(tail, s2, 1.0 / 9);
  tail = fma(tail, s2, 1.0 / 7);
  tail = fma(tail, s2, 1.0 / 5);
  tail = fma(tail, s2, 1.0 / 3);
  const double twice = s + s;
  const double low = fma(exponent, kLn2Low, twice * s2 * tail);
  return fma(exponent, kLn2High, twice + low);
}

// Natural logarithm of a positive normal float, to 2 ulp.
inline float quick_log(float x) {
  std::uint32_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  constexpr std::uint32_t sqrt_half = 0x3F3504F3U;
  const std::int32_t exponent = static_cast<std::int32_t>(bits - sqrt_half) >> 23;
  const std::uint32_t mantissa_bits = bits - (static_cast<std::uint32_t>(exponent) << 23U);
  float mantissa = 0;
  memcpy(&mantissa, &mantissa_bits, sizeof mantissa);

  // ln(1+f) = f - f^2/2 + f^3 P(f); P is a least-squares fit on [1/sqrt 2 - 1, sqrt 2 - 1] that
  // leaves a relative error of 7e-9.
  const float f = mantissa - 1;
  float p = -0.07670866698026657F;
  p = fmaf(p, f, 0.12785537540912628F);
  p = fmaf(p, f, -0.13156946003437042F);
  p = fmaf(p, f, 0.1419764757156372F);
  p = fmaf(p, f, -0.16623273491859436F);
  p = fmaf(p, f, 0.20001445710659027F);
  p = fmaf(p, f, -0.2500082850456238F);
  p = fmaf(p, f, 0.333333283662796F);
  constexpr float ln2_high = 0x1.62e4p-1F;  // times an exponent it is exact
  constexpr float ln2_low = 0x1.7f7d1cp-20F;
  const auto k = static_cast<float>(exponent);
  const float tail = fmaf(f * f, fmaf(p, f, -0.5F), k * ln2_low);
  return fmaf(k, ln2_high, f + tail);
}

// e^x to 2 ulp; 0 below the smallest normal result, infinity above the largest.
inline double exponential(double x) {
  constexpr double log2_e = 0x1.71547652b82fep0;
  constexpr double to_integer = 0x1.8p52;  // adding it leaves round(x) in the low bits
  const double clamped = x > 710 ? 710 : (x < -709 ? -709 : x);
  const double shifted = fma(clamped, log2_e, to_integer);
  const double k = shifted - to_integer;
  const double r = fma(-k, kLn2Low, fma(-k, kLn2High, clamped));

  double series = 1.0 / 6227020800;  // 1/13!, |r| < 0.347
  series = fma(series, r, 1.0 / 479001600);
  series = fma(series, r, 1.0 / 39916800);
  series = fma(series, r, 1.0 / 3628800);
  series = fma(series, r, 1.0 / 362880);
  series = fma(series, r, 1.0 / 40320);
  series = fma(series, r, 1.0 / 5040);
  series = fma(series, r, 1.0 / 720);
  series = fma(series, r, 1.0 / 120);
  series = fma(series, r, 1.0 / 24);
  series = fma(series, r, 1.0 / 6);
  series = fma(series, r, 0.5);
  series = fma(series, r, 1.0);
  series = fma(series, r, 1.0);

  // 2^k in two halves, because k can be 1024.
  const std::uint64_t whole = bits_of(shifted) - bits_of(to_integer) + 2048;
  const std::uint64_t first = whole >> 1U;
  const std::uint64_t second = whole - first;
  const double scaled =
      series * from_bits((first - 1024 + 1023) << 52U) * from_bits((second - 1024 + 1023) << 52U);
  return x < -708 ? 0.0 : scaled;
}

// x^p for x >= 0.
inline double real_power(double x, double p) {
  const double result = exponential(p * natural_log(x > 0 ? x : 1.0));
  return x > 0 ? result : (p > 0 ? 0.0 : HUGE_VAL);
}

}  // namespace
