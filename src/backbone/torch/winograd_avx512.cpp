#include <immintrin.h>

#include "winograd_body.hpp"

namespace deepvoro {
namespace {

struct Lanes {
  static constexpr std::size_t kWidth = 16;
  static constexpr std::size_t kAccumulators = 24;
  __m512 values;

  static Lanes load(const float* from) { return {_mm512_loadu_ps(from)}; }
  static Lanes all(float value) { return {_mm512_set1_ps(value)}; }
  static Lanes zero() { return {_mm512_setzero_ps()}; }
  static Lanes fma(Lanes a, Lanes b, Lanes c) {
    return {_mm512_fmadd_ps(a.values, b.values, c.values)};
  }
  static Lanes larger(Lanes a, Lanes b) { return {_mm512_max_ps(a.values, b.values)}; }
  void store(float* to) const { _mm512_storeu_ps(to, values); }

  friend Lanes operator+(Lanes a, Lanes b) { return {_mm512_add_ps(a.values, b.values)}; }
  friend Lanes operator-(Lanes a, Lanes b) { return {_mm512_sub_ps(a.values, b.values)}; }
  friend Lanes operator*(Lanes a, Lanes b) { return {_mm512_mul_ps(a.values, b.values)}; }
};

}  // namespace

void winograd_avx512(const WinogradLayer& layer, const WinogradPictures& pictures,
                     std::size_t first_tile, std::size_t end_tile, float* scratch) {
  WinogradLoops<Lanes>(layer, pictures, scratch).run(first_tile, end_tile);
}

}  // namespace deepvoro
