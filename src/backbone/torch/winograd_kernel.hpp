#pragma once

#include <cstddef>

namespace deepvoro {

constexpr std::size_t kWinogradPoints = 36;   // products of a tile
constexpr std::size_t kWinogradRows = 12;     // tiles of a product in registers
constexpr std::size_t kWinogradColumns = 32;  // channels of a product in registers

struct WinogradLayer {
  std::size_t in;
  std::size_t out;
  std::size_t block;     // tiles at a time
  const float* weights;  // [36, out / 32, in, 32]
  const float* bias;
  float slope;  // at most 1; results below 0 are multiplied by it
};

struct WinogradPictures {  // in channels-last order
  const float* in;
  float* out;
  const float* added;  // to the results before their activation, or null
  std::size_t height;
  std::size_t width;
};

// Tiles are counted through all pictures.
using WinogradKernel = void (*)(const WinogradLayer& layer, const WinogradPictures& pictures,
                                std::size_t first_tile, std::size_t end_tile, float* scratch);

void winograd_avx2(const WinogradLayer& layer, const WinogradPictures& pictures,
                   std::size_t first_tile, std::size_t end_tile, float* scratch);
void winograd_avx512(const WinogradLayer& layer, const WinogradPictures& pictures,
                     std::size_t first_tile, std::size_t end_tile, float* scratch);
void winograd_neon(const WinogradLayer& layer, const WinogradPictures& pictures,
                   std::size_t first_tile, std::size_t end_tile, float* scratch);

}  // namespace deepvoro
