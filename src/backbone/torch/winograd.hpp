#pragma once

#include <cstddef>
#include <vector>

#include "core/matrix.hpp"
#include "winograd_kernel.hpp"

namespace deepvoro {

// Those that this processor has the instructions for, the quickest first.
[[nodiscard]] std::vector<WinogradKernel> winograd_kernels();

// A 3x3 convolution with stride 1 and padding 1 by the algorithm of Winograd (Lavin 2016): 4x4
// results from 6x6 places take 36 products for each pair of channels instead of 144. Pictures are
// in channels-last order. Rounding errors are some ten times those of plain sums.
class Winograd {
 public:
  // Whether this processor has the instructions, and channels fill its registers.
  [[nodiscard]] static bool fits(std::size_t in, std::size_t out);

  // Weights [out, in, 3, 3]; results below 0 are multiplied by `slope`, which is at most 1.
  Winograd(const float* weights, const float* bias, std::size_t in, std::size_t out, float slope,
           WinogradKernel kernel = winograd_kernels().front());

  struct Pictures {
    const float* in;
    float* out;
    const float* added;  // to the results before the slope, or null
    std::size_t count;
    std::size_t height;
    std::size_t width;
  };

  // The work falls into blocks, which different threads may do.
  [[nodiscard]] std::size_t blocks(const Pictures& pictures) const;
  void run(const Pictures& pictures, std::size_t first_block, std::size_t end_block) const;

 private:
  WinogradKernel kernel_;
  std::size_t in_;
  std::size_t out_;
  std::size_t tiles_in_block_;
  float slope_;
  Matrix<float> weights_;  // [36 x (out / 32, in, 32)]
  std::vector<float> bias_;
};

}  // namespace deepvoro
