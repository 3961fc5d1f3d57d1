#include "winograd.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace deepvoro {
namespace {

constexpr std::size_t kTile = 4;
constexpr std::size_t kSide = 6;
constexpr std::size_t kKernel = 3;

// One number of each channel that is computed in the same registers.
using Channels = std::array<double, kWinogradColumns>;

// sum_i factors[i] * values[i]
template <class Values>
Channels combined(const std::array<double, kKernel>& factors, const Values& values) {
  Channels sums{};
  for (std::size_t i = 0; i < kKernel; ++i)
    for (std::size_t k = 0; k < kWinogradColumns; ++k) sums[k] += factors[i] * values(i)[k];
  return sums;
}

// The weights of kWinogradColumns channels, `step` apart, to out[point * out_step]. In double: what
// is lost here is lost in every picture.
void transform_weights(const float* weights, std::size_t step, float* out, std::size_t out_step) {
  constexpr std::array<std::array<double, kKernel>, kSide> factors{{{1.0 / 4, 0, 0},
                                                                    {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                                                    {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                                                    {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                                                    {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                                                    {0, 0, 1}}};
  std::array<std::array<Channels, kKernel>, kKernel> places;
  for (std::size_t k = 0; k < kWinogradColumns; ++k)
    for (std::size_t place = 0; place < kKernel * kKernel; ++place)
      places[place / kKernel][place % kKernel][k] = static_cast<double>(weights[k * step + place]);
  for (std::size_t i = 0; i < kSide; ++i) {
    std::array<Channels, kKernel> row;
    for (std::size_t x = 0; x < kKernel; ++x)
      row[x] = combined(factors[i], [&](std::size_t y) -> const Channels& { return places[y][x]; });
    for (std::size_t j = 0; j < kSide; ++j) {
      const Channels values =
          combined(factors[j], [&](std::size_t x) -> const Channels& { return row[x]; });
      float* of_point = out + (i * kSide + j) * out_step;
      for (std::size_t k = 0; k < kWinogradColumns; ++k)
        of_point[k] = static_cast<float>(values[k]);
    }
  }
}

std::size_t tiles(const Winograd::Pictures& pictures) {
  const auto along = [](std::size_t side) { return (side + kTile - 1) / kTile; };
  return pictures.count * along(pictures.height) * along(pictures.width);
}

}  // namespace

std::vector<WinogradKernel> winograd_kernels() {
  std::vector<WinogradKernel> kernels;
#ifdef DEEPVORO_X86_KERNELS
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    kernels.push_back(winograd_avx512);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    kernels.push_back(winograd_avx2);
#endif
#ifdef DEEPVORO_ARM_KERNELS
  kernels.push_back(winograd_neon);
#endif
  return kernels;
}

bool Winograd::fits(std::size_t in, std::size_t out) {
  constexpr std::size_t lanes = 16;
  return !winograd_kernels().empty() && in % lanes == 0 && out % kWinogradColumns == 0;
}

Winograd::Winograd(const float* weights, const float* bias, std::size_t in, std::size_t out,
                   float slope, WinogradKernel kernel)
    : kernel_(kernel),
      in_(in),
      out_(out),
      // Narrow layers stay in the second-level cache; wide ones have to use their weights, which
      // come from further away, often.
      tiles_in_block_(in + out <= 256 ? 2 * kWinogradRows : 4 * kWinogradRows),
      slope_(slope),
      weights_(kWinogradPoints, in * out),
      bias_(bias, bias + out) {
  for (std::size_t k = 0; k < out; k += kWinogradColumns)
    for (std::size_t c = 0; c < in; ++c)
      transform_weights(weights + (k * in + c) * kKernel * kKernel, in * kKernel * kKernel,
                        weights_.row(0) + k * in + c * kWinogradColumns, weights_.stride());
}

std::size_t Winograd::blocks(const Pictures& pictures) const {
  return (tiles(pictures) + tiles_in_block_ - 1) / tiles_in_block_;
}

void Winograd::run(const Pictures& pictures, std::size_t first_block, std::size_t end_block) const {
  const auto scratch = std::make_unique_for_overwrite<float[]>(
      kWinogradPoints * tiles_in_block_ * (in_ + out_) + in_);
  const std::size_t end = std::min(tiles(pictures), end_block * tiles_in_block_);
  kernel_({in_, out_, tiles_in_block_, weights_.row(0), bias_.data(), slope_},
          {pictures.in, pictures.out, pictures.added, pictures.height, pictures.width},
          first_block * tiles_in_block_, end, scratch.get());
}

}  // namespace deepvoro
