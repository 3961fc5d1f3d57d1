#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "output.hpp"

// Sixteen numbers side by side, in the registers that every aarch64 processor has.
namespace {

struct FloatLanes {
  float32x4_t part[4];

  static FloatLanes zero() { return all_of(0); }
  static FloatLanes load(const float* from) {
    return {{vld1q_f32(from), vld1q_f32(from + 4), vld1q_f32(from + 8), vld1q_f32(from + 12)}};
  }
  static FloatLanes all_of(float x) {
    const float32x4_t four = vdupq_n_f32(x);
    return {{four, four, four, four}};
  }
  void store(float* to) const {
    for (std::size_t i = 0; i < 4; ++i) vst1q_f32(to + 4 * i, part[i]);
  }
};

struct DoubleLanes {
  float64x2_t part[8];

  static DoubleLanes zero() { return all_of(0); }
  static DoubleLanes load(const double* from) {
    DoubleLanes lanes;
    for (std::size_t i = 0; i < 8; ++i) lanes.part[i] = vld1q_f64(from + 2 * i);
    return lanes;
  }
  static DoubleLanes all_of(double x) {
    const float64x2_t two = vdupq_n_f64(x);
    return {{two, two, two, two, two, two, two, two}};
  }
  void store(double* to) const {
    for (std::size_t i = 0; i < 8; ++i) vst1q_f64(to + 2 * i, part[i]);
  }
};

inline FloatLanes operator+(const FloatLanes& a, const FloatLanes& b) {
  FloatLanes result;
  for (std::size_t i = 0; i < 4; ++i) result.part[i] = vaddq_f32(a.part[i], b.part[i]);
  return result;
}

inline DoubleLanes operator+(const DoubleLanes& a, const DoubleLanes& b) {
  DoubleLanes result;
  for (std::size_t i = 0; i < 8; ++i) result.part[i] = vaddq_f64(a.part[i], b.part[i]);
  return result;
}

inline FloatLanes operator-(const FloatLanes& a, const FloatLanes& b) {
  FloatLanes result;
  for (std::size_t i = 0; i < 4; ++i) result.part[i] = vsubq_f32(a.part[i], b.part[i]);
  return result;
}

inline DoubleLanes operator-(const DoubleLanes& a, const DoubleLanes& b) {
  DoubleLanes result;
  for (std::size_t i = 0; i < 8; ++i) result.part[i] = vsubq_f64(a.part[i], b.part[i]);
  return result;
}

inline FloatLanes operator*(const FloatLanes& a, const FloatLanes& b) {
  FloatLanes result;
  for (std::size_t i = 0; i < 4; ++i) result.part[i] = vmulq_f32(a.part[i], b.part[i]);
  return result;
}

inline DoubleLanes operator*(const DoubleLanes& a, const DoubleLanes& b) {
  DoubleLanes result;
  for (std::size_t i = 0; i < 8; ++i) result.part[i] = vmulq_f64(a.part[i], b.part[i]);
  return result;
}

inline FloatLanes operator/(const FloatLanes& a, const FloatLanes& b) {
  FloatLanes result;
  for (std::size_t i = 0; i < 4; ++i) result.part[i] = vdivq_f32(a.part[i], b.part[i]);
  return result;
}

inline DoubleLanes operator/(const DoubleLanes& a, const DoubleLanes& b) {
  DoubleLanes result;
  for (std::size_t i = 0; i < 8; ++i) result.part[i] = vdivq_f64(a.part[i], b.part[i]);
  return result;
}

inline FloatLanes root(const FloatLanes& a) {
  FloatLanes result;
  for (std::size_t i = 0; i < 4; ++i) result.part[i] = vsqrtq_f32(a.part[i]);
  return result;
}

inline DoubleLanes root(const DoubleLanes& a) {
  DoubleLanes result;
  for (std::size_t i = 0; i < 8; ++i) result.part[i] = vsqrtq_f64(a.part[i]);
  return result;
}

inline FloatLanes multiply_add(const FloatLanes& a, const FloatLanes& b, const FloatLanes& c) {
  FloatLanes result;
  for (std::size_t i = 0; i < 4; ++i) result.part[i] = vfmaq_f32(c.part[i], a.part[i], b.part[i]);
  return result;
}

inline DoubleLanes multiply_add(const DoubleLanes& a, const DoubleLanes& b, const DoubleLanes& c) {
  DoubleLanes result;
  for (std::size_t i = 0; i < 8; ++i) result.part[i] = vfmaq_f64(c.part[i], a.part[i], b.part[i]);
  return result;
}

inline FloatLanes larger(const FloatLanes& a, const FloatLanes& b) {
  FloatLanes result;
  for (std::size_t i = 0; i < 4; ++i) result.part[i] = vmaxq_f32(a.part[i], b.part[i]);
  return result;
}

// The tree every level follows: 16 sums become 8, 4, 2, 1, each half added to the other.
inline double sum(const DoubleLanes& lanes) {
  const float64x2_t four_low = vaddq_f64(vaddq_f64(lanes.part[0], lanes.part[4]),  //
                                         vaddq_f64(lanes.part[2], lanes.part[6]));
  const float64x2_t four_high =
      vaddq_f64(vaddq_f64(lanes.part[1], lanes.part[5]), vaddq_f64(lanes.part[3], lanes.part[7]));
  return vpaddd_f64(vaddq_f64(four_low, four_high));
}

inline DoubleLanes widened(const FloatLanes& lanes) {
  DoubleLanes wide;
  for (std::size_t i = 0; i < 4; ++i) {
    wide.part[2 * i] = vcvt_f64_f32(vget_low_f32(lanes.part[i]));
    wide.part[2 * i + 1] = vcvt_high_f64_f32(lanes.part[i]);
  }
  return wide;
}

inline float32x4_t widen_four(const std::uint16_t* halves) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(halves)));
}

// Sixteen half-precision numbers.
inline FloatLanes load_halves(const std::uint16_t* from) {
  FloatLanes lanes;
  for (std::size_t i = 0; i < 4; ++i) lanes.part[i] = widen_four(from + 4 * i);
  return lanes;
}

// Joins sixteen partial sums by the tree every level follows: first the two halves, then
// neighbours, then neighbours of these, then the two that are left.
inline float join(const float32x4_t* parts) {
  const float32x4_t pairs =
      vpaddq_f32(vaddq_f32(parts[0], parts[2]), vaddq_f32(parts[1], parts[3]));
  return vpadds_f32(vget_low_f32(vpaddq_f32(pairs, pairs)));
}

// The sums of four dot products.
inline void join_four(const FloatLanes* sums, float* out) {
  float32x4_t pairs[4];
  for (std::size_t i = 0; i < 4; ++i)
    pairs[i] = vpaddq_f32(vaddq_f32(sums[i].part[0], sums[i].part[2]),
                          vaddq_f32(sums[i].part[1], sums[i].part[3]));
  vst1q_f32(out, vpaddq_f32(vpaddq_f32(pairs[0], pairs[1]), vpaddq_f32(pairs[2], pairs[3])));
}

constexpr std::size_t kRegisterBytes = 16;
constexpr std::size_t kQueryBlock = 2;
constexpr std::size_t kCenterBlock = 5;

// One half of the sixteen partial sums of Queries x Centers dot products: all of them do not fit
// into the registers at once. The row later[0] is fetched meanwhile, if it is to Fetch.
template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength, bool Fetch>
[[gnu::noinline]] void half_of_partial_dots(const float* const* queries,
                                            const float* const* centers, std::size_t half,
                                            std::size_t length, float32x4_t (*partial)[Queries][4],
                                            const float* const* later) {
  float32x4_t sums[Centers][Queries][2];
  for (auto& of_center : sums)
    for (auto& of_dot : of_center) of_dot[0] = of_dot[1] = vdupq_n_f32(0);
  if (FixedLength > 0) length = FixedLength;
  for (std::size_t d = half; d < length + half; d += 16) {
    if (Fetch) __builtin_prefetch(later[0] + d);
    float32x4_t q[Queries][2];
    for (std::size_t i = 0; i < Queries; ++i) {
      q[i][0] = vld1q_f32(queries[i] + d);
      q[i][1] = vld1q_f32(queries[i] + d + 4);
    }
    for (std::size_t k = 0; k < Centers; ++k)
      for (std::size_t part = 0; part < 2; ++part) {
        const float32x4_t c = vld1q_f32(centers[k] + d + 4 * part);
        for (std::size_t i = 0; i < Queries; ++i)
          sums[k][i][part] = vfmaq_f32(sums[k][i][part], q[i][part], c);
      }
  }
  for (std::size_t k = 0; k < Centers; ++k)
    for (std::size_t i = 0; i < Queries; ++i)
      for (std::size_t part = 0; part < 2; ++part)
        partial[k][i][half / 4 + part] = sums[k][i][part];
}

// Calls take(c, q, queries[q] . centers[c]).
template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength, bool Fetch, class Take>
void dot_products(const float* const* queries, const float* const* centers, std::size_t length,
                  const float* const* later, const Take& take) {
  float32x4_t partial[Centers][Queries][4];
  half_of_partial_dots<Queries, Centers, FixedLength, Fetch>(queries, centers, 0, length, partial,
                                                             later);
  half_of_partial_dots<Queries, Centers, FixedLength, false>(queries, centers, 8, length, partial,
                                                             nullptr);
  for (std::size_t k = 0; k < Centers; ++k)
    for (std::size_t i = 0; i < Queries; ++i) take(k, i, join(partial[k][i]));
}

template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength>
void add_dot_products(const float* const* queries, const float* const* centers, std::size_t length,
                      const Output& out) {
  dot_products<Queries, Centers, FixedLength, false>(
      queries, centers, length, nullptr,
      [&](std::size_t k, std::size_t i, float dot) { out.at(k, i) += dot; });
}

constexpr std::size_t kTileQueries = 2;
constexpr std::size_t kTileElements = 12;
constexpr std::size_t kTileRowsAhead = 1;

template <std::size_t Queries, std::size_t Centers, std::size_t FixedLength>
void tile_of_dots(const float* const* queries, const float* const* centers, std::size_t length,
                  const float* const* later, bool add, float* tile) {
  dot_products<Queries, Centers, FixedLength, true>(queries, centers, length, later,
                                                    [&](std::size_t k, std::size_t i, float dot) {
                                                      float& out = tile[k * kTileQueries + i];
                                                      out = add ? out + dot : dot;
                                                    });
}

inline float widen_one(std::uint16_t half) {
  return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half))), 0);
}

inline void widen_half(const std::uint16_t* from, std::size_t count, float* to) {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) vst1q_f32(to + i, widen_four(from + i));
  for (; i < count; ++i) to[i] = widen_one(from[i]);
}

inline void widen_half(const std::uint16_t* from, std::size_t count, double* to) {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const float32x4_t four = widen_four(from + i);
    vst1q_f64(to + i, vcvt_f64_f32(vget_low_f32(four)));
    vst1q_f64(to + i + 2, vcvt_high_f64_f32(four));
  }
  for (; i < count; ++i) to[i] = static_cast<double>(widen_one(from[i]));
}

}  // namespace
