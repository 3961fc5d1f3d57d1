#pragma once

#include <cstddef>

#include "kernels/kernels.hpp"

// The hot loops of networks on the CPU. All levels give the same bits: each sum runs over its
// products in order, and multiply-add is fused. Pictures and what becomes of them lie in
// channels-last order.
namespace deepvoro::kernels {

// So many channels of a result lie side by side in a panel of weights.
inline constexpr std::size_t kPanelChannels = 32;

// out[r * out_stride + k] = sum_c rows[r * row_stride + c] * panel[c * kPanelChannels + k]
struct RowProducts {
  const float* rows;
  std::size_t row_stride;
  std::size_t count;
  std::size_t length;
  const float* panel;
  float* out;
  std::size_t out_stride;
};

// What happens to results before they are stored. Those below 0 are multiplied by `slope`, which is
// at most 1.
struct Finish {
  const float* bias;
  const float* added;  // lies as the results do; or null
  float slope;
};

// A tile of 4x4 results comes from 6x6 places (Lavin 2016).
inline constexpr std::size_t kTile = 4;
inline constexpr std::size_t kTilePlaces = 6;
inline constexpr std::size_t kTilePoints = kTilePlaces * kTilePlaces;

// Where the 4x4 results of a tile go; those outside the picture go nowhere.
struct TileResults {
  float* out;
  const float* added;  // lies as `out` does; or null
  std::size_t height;
  std::size_t width;
  std::size_t row_step;    // between results below each other
  std::size_t place_step;  // between results beside each other
};

// Weights [out, in, kernel, kernel] as a file has them, from the first channel of a panel on. Each
// is multiplied by the factor of its channel in double, and rounded to float.
struct PanelWeights {
  const float* weights;
  std::size_t in;
  std::size_t places;    // of the kernel
  std::size_t channels;  // of the panel; the others are 0
  const double* factors;
};

struct NetworkTable {
  void (*multiply)(const RowProducts& products, const Finish* finish);

  // panel[(place * in + c) * kPanelChannels + k]
  void (*pack_panel)(const PanelWeights& weights, float* panel);

  // panel[(point * in + c) * kPanelChannels + k] of a 3x3 kernel
  void (*pack_tile_panel)(const PanelWeights& weights, float* panel);

  // Points of a tile, `point_step` apart, from its places; `channels` is a multiple of 16.
  void (*transform_places)(const float* const* places, std::size_t channels, float* points,
                           std::size_t point_step);

  // The results of a tile from its points; `channels` is a multiple of 16.
  void (*transform_points)(const float* points, std::size_t point_step, std::size_t channels,
                           const TileResults& results, const float* bias, float slope);

  // One result of a depthwise convolution; weights are [places, channels], and `channels` is a
  // multiple of 16.
  void (*depthwise)(const float* const* places, std::size_t count, const float* weights,
                    std::size_t channels, const float* bias, float slope, float* out);

  // The largest, or the mean, of some places.
  void (*largest)(const float* const* places, std::size_t count, std::size_t channels, float* out);
  void (*mean)(const float* const* places, std::size_t count, std::size_t channels, float* out);

  // max(0, x * factor + shift)
  void (*rectify)(const float* x, std::size_t places, std::size_t channels, const float* factors,
                  const float* shifts, float* out);

  bool (*all_finite)(const float* values, std::size_t count);
};

// The table of a level that table() knows, and that of the level in use, see active().
[[nodiscard]] const NetworkTable& network_table(Level level);
[[nodiscard]] const NetworkTable& network_kernels();

}  // namespace deepvoro::kernels
