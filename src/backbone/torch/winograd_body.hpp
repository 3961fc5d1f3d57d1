#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "winograd_kernel.hpp"

namespace deepvoro {

// The loops over tiles, compiled once for each vector type: Lanes has a width, load, store, zero,
// all, +, -, * and fma.
template <class Lanes>
class WinogradLoops {
 public:
  WinogradLoops(const WinogradLayer& layer, const WinogradPictures& pictures, float* scratch)
      : layer_(layer),
        pictures_(pictures),
        tiles_down_((pictures.height + kTile - 1) / kTile),
        tiles_right_((pictures.width + kTile - 1) / kTile),
        places_(scratch),
        products_(places_ + kWinogradPoints * layer.block * layer.in),
        zeros_(products_ + kWinogradPoints * layer.block * layer.out) {
    std::fill_n(zeros_, layer.in, 0.0F);
  }

  void run(std::size_t first_tile, std::size_t end_tile) {
    for (std::size_t begin = first_tile; begin < end_tile; begin += layer_.block) {
      const std::size_t count = std::min(layer_.block, end_tile - begin);
      for (std::size_t i = 0; i < count; ++i) transform_places(begin + i, places_ + i * layer_.in);
      multiply((count + kWinogradRows - 1) / kWinogradRows);
      for (std::size_t i = 0; i < count; ++i)
        transform_products(products_ + i * layer_.out, begin + i);
    }
  }

 private:
  static constexpr std::size_t kTile = 4;
  static constexpr std::size_t kSide = 6;
  static constexpr std::size_t kVectors = kWinogradColumns / Lanes::kWidth;
  // As many rows as accumulators fit into registers.
  static constexpr std::size_t kRowsAtOnce = Lanes::kAccumulators / kVectors;
  using Line = std::array<Lanes, kSide>;

  struct Place {
    std::size_t picture;
    std::size_t y;
    std::size_t x;
  };
  [[nodiscard]] Place place(std::size_t tile) const {
    const std::size_t row = tile / tiles_right_;
    return {row / tiles_down_, row % tiles_down_ * kTile, tile % tiles_right_ * kTile};
  }

  static Line transformed_places(const Line& d) {
    const Lanes four = Lanes::all(4);
    const Lanes five = Lanes::all(5);
    const Lanes two = Lanes::all(2);
    const Lanes a = d[4] - four * d[2];
    const Lanes b = d[3] - four * d[1];
    const Lanes c = d[4] - d[2];
    const Lanes e = two * (d[3] - d[1]);
    return {four * d[0] - five * d[2] + d[4], a + b, a - b, c + e, c - e,
            four * d[1] - five * d[3] + d[5]};
  }

  static std::array<Lanes, kTile> transformed_products(const Line& m) {
    const Lanes sum = m[1] + m[2];
    const Lanes difference = m[1] - m[2];
    const Lanes outer_sum = m[3] + m[4];
    const Lanes outer_difference = m[3] - m[4];
    return {m[0] + sum + outer_sum, difference + Lanes::all(2) * outer_difference,
            sum + Lanes::all(4) * outer_sum, difference + Lanes::all(8) * outer_difference + m[5]};
  }

  void transform_places(std::size_t tile, float* out) const {
    const Place at = place(tile);
    std::array<const float*, kWinogradPoints> sources;
    for (std::size_t i = 0; i < kSide; ++i)
      for (std::size_t j = 0; j < kSide; ++j) {
        // Places count from the padding on.
        const std::size_t y = at.y + i;
        const std::size_t x = at.x + j;
        const bool inside = y > 0 && x > 0 && y <= pictures_.height && x <= pictures_.width;
        sources[i * kSide + j] =
            inside ? pictures_.in +
                         ((at.picture * pictures_.height + y - 1) * pictures_.width + x - 1) *
                             layer_.in
                   : zeros_;
      }
    const std::size_t stride = layer_.block * layer_.in;
    for (std::size_t c = 0; c < layer_.in; c += Lanes::kWidth) {
      std::array<Line, kSide> columns;
      for (std::size_t j = 0; j < kSide; ++j) {
        Line line;
        for (std::size_t i = 0; i < kSide; ++i) line[i] = Lanes::load(sources[i * kSide + j] + c);
        columns[j] = transformed_places(line);
      }
      for (std::size_t i = 0; i < kSide; ++i) {
        Line line;
        for (std::size_t j = 0; j < kSide; ++j) line[j] = columns[j][i];
        line = transformed_places(line);
        for (std::size_t j = 0; j < kSide; ++j) line[j].store(out + (i * kSide + j) * stride + c);
      }
    }
  }

  void multiply(std::size_t row_blocks) {
    const std::size_t panel = layer_.in * kWinogradColumns;
    const float* weights = layer_.weights;
    for (std::size_t point = 0; point < kWinogradPoints; ++point) {
      const float* rows = places_ + point * layer_.block * layer_.in;
      float* results = products_ + point * layer_.block * layer_.out;
      for (std::size_t k = 0; k < layer_.out; k += kWinogradColumns, weights += panel)
        for (std::size_t row = 0; row < row_blocks * kWinogradRows; row += kRowsAtOnce)
          multiply_block(rows + row * layer_.in, weights, results + row * layer_.out + k);
    }
  }

  void multiply_block(const float* rows, const float* weights, float* results) const {
    std::array<std::array<Lanes, kVectors>, kRowsAtOnce> sums;
    for (auto& row : sums) row.fill(Lanes::zero());
    for (std::size_t c = 0; c < layer_.in; ++c) {
      std::array<Lanes, kVectors> weight;
      for (std::size_t v = 0; v < kVectors; ++v)
        weight[v] = Lanes::load(weights + c * kWinogradColumns + v * Lanes::kWidth);
      for (std::size_t row = 0; row < kRowsAtOnce; ++row) {
        const Lanes value = Lanes::all(rows[row * layer_.in + c]);
        for (std::size_t v = 0; v < kVectors; ++v)
          sums[row][v] = Lanes::fma(value, weight[v], sums[row][v]);
      }
    }
    for (std::size_t row = 0; row < kRowsAtOnce; ++row)
      for (std::size_t v = 0; v < kVectors; ++v)
        sums[row][v].store(results + row * layer_.out + v * Lanes::kWidth);
  }

  void transform_products(const float* products, std::size_t tile) const {
    const Place at = place(tile);
    const std::size_t height = std::min(kTile, pictures_.height - at.y);
    const std::size_t width = std::min(kTile, pictures_.width - at.x);
    const std::size_t stride = layer_.block * layer_.out;
    const std::size_t first =
        ((at.picture * pictures_.height + at.y) * pictures_.width + at.x) * layer_.out;
    const Lanes slope = Lanes::all(layer_.slope);
    for (std::size_t k = 0; k < layer_.out; k += Lanes::kWidth) {
      std::array<std::array<Lanes, kTile>, kSide> columns;
      for (std::size_t j = 0; j < kSide; ++j) {
        Line line;
        for (std::size_t i = 0; i < kSide; ++i)
          line[i] = Lanes::load(products + (i * kSide + j) * stride + k);
        columns[j] = transformed_products(line);
      }
      const Lanes bias = Lanes::load(layer_.bias + k);
      for (std::size_t i = 0; i < height; ++i) {
        Line line;
        for (std::size_t j = 0; j < kSide; ++j) line[j] = columns[j][i];
        const std::array<Lanes, kTile> results = transformed_products(line);
        for (std::size_t j = 0; j < width; ++j) {
          const std::size_t offset = first + (i * pictures_.width + j) * layer_.out + k;
          Lanes result = results[j] + bias;
          if (pictures_.added != nullptr) result = result + Lanes::load(pictures_.added + offset);
          Lanes::larger(result, slope * result).store(pictures_.out + offset);
        }
      }
    }
  }

  const WinogradLayer& layer_;
  const WinogradPictures& pictures_;
  std::size_t tiles_down_;
  std::size_t tiles_right_;
  float* places_;    // [36, block, in]
  float* products_;  // [36, block, out]
  float* zeros_;     // [in]
};

}  // namespace deepvoro
