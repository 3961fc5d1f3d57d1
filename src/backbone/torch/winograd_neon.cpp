#include <arm_neon.h>

#include "winograd_body.hpp"

namespace deepvoro {
namespace {

struct Lanes {
  static constexpr std::size_t kWidth = 4;
  static constexpr std::size_t kAccumulators = 16;
  float32x4_t values;

  static Lanes load(const float* from) { return {vld1q_f32(from)}; }
  static Lanes all(float value) { return {vdupq_n_f32(value)}; }
  static Lanes zero() { return all(0); }
  static Lanes fma(Lanes a, Lanes b, Lanes c) { return {vfmaq_f32(c.values, a.values, b.values)}; }
  static Lanes larger(Lanes a, Lanes b) { return {vmaxq_f32(a.values, b.values)}; }
  void store(float* to) const { vst1q_f32(to, values); }

  friend Lanes operator+(Lanes a, Lanes b) { return {vaddq_f32(a.values, b.values)}; }
  friend Lanes operator-(Lanes a, Lanes b) { return {vsubq_f32(a.values, b.values)}; }
  friend Lanes operator*(Lanes a, Lanes b) { return {vmulq_f32(a.values, b.values)}; }
};

}  // namespace

void winograd_neon(const WinogradLayer& layer, const WinogradPictures& pictures,
                   std::size_t first_tile, std::size_t end_tile, float* scratch) {
  WinogradLoops<Lanes>(layer, pictures, scratch).run(first_tile, end_tile);
}

}  // namespace deepvoro
