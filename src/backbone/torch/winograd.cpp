#include "winograd.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace deepvoro {
namespace {

constexpr std::size_t kTile = 4;
constexpr std::size_t kSide = 6;
constexpr std::size_t kKernel = 3;

using Square = std::array<std::array<double, kSide>, kSide>;

// In double: what is lost here is lost in every picture.
Square transformed_weights(const float* weights) {
  constexpr std::array<std::array<double, kKernel>, kSide> factors{{{1.0 / 4, 0, 0},
                                                                    {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                                                    {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                                                    {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                                                    {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                                                    {0, 0, 1}}};
  Square result{};
  for (std::size_t i = 0; i < kSide; ++i) {
    std::array<double, kKernel> row{};
    for (std::size_t y = 0; y < kKernel; ++y)
      for (std::size_t x = 0; x < kKernel; ++x)
        row[x] += factors[i][y] * static_cast<double>(weights[y * kKernel + x]);
    for (std::size_t j = 0; j < kSide; ++j)
      for (std::size_t x = 0; x < kKernel; ++x) result[i][j] += factors[j][x] * row[x];
  }
  return result;
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
      weights_(kWinogradPoints * in * out),
      bias_(bias, bias + out) {
  for (std::size_t k = 0; k < out; ++k)
    for (std::size_t c = 0; c < in; ++c) {
      const Square values = transformed_weights(weights + (k * in + c) * kKernel * kKernel);
      const std::size_t panel = k / kWinogradColumns * in + c;
      for (std::size_t point = 0; point < kWinogradPoints; ++point)
        weights_[point * in * out + panel * kWinogradColumns + k % kWinogradColumns] =
            static_cast<float>(values[point / kSide][point % kSide]);
    }
}

std::size_t Winograd::blocks(const Pictures& pictures) const {
  return (tiles(pictures) + tiles_in_block_ - 1) / tiles_in_block_;
}

void Winograd::run(const Pictures& pictures, std::size_t first_block, std::size_t end_block) const {
  const auto scratch = std::make_unique_for_overwrite<float[]>(
      kWinogradPoints * tiles_in_block_ * (in_ + out_) + in_);
  const std::size_t end = std::min(tiles(pictures), end_block * tiles_in_block_);
  kernel_({in_, out_, tiles_in_block_, weights_.data(), bias_.data(), slope_},
          {pictures.in, pictures.out, pictures.added, pictures.height, pictures.width},
          first_block * tiles_in_block_, end, scratch.get());
}

}  // namespace deepvoro
