#include <algorithm>
#include <array>
#include <utility>

#include "convolution.hpp"
#include "deepvoro/core/parallel.hpp"

namespace deepvoro::native {
namespace {

using kernels::kPanelChannels;
using kernels::kTile;
using kernels::kTilePlaces;
using kernels::kTilePoints;

class WinogradConvolution final : public Convolution {
 public:
  explicit WinogradConvolution(Weights weights)
      : Convolution(std::move(weights), 1),
        panels_(this->weights(), kTilePoints * this->weights().in * kPanelChannels,
                kernels::network_kernels().pack_tile_panel) {}

  void run(const Shape& shape, const float* in, const float* added, float* out,
           Workspace& work) const override {
    const Tiles tiles{shape, (shape.height + kTile - 1) / kTile, (shape.width + kTile - 1) / kTile};
    const bool is_few = tiles.count() <= kFewTiles;
    const float* kept = panels_.kept(is_few, work.threads);
    const Division division(tiles.count(),
                            kept == nullptr && is_few ? tiles.count() : tiles_in_block(),
                            panels_.count(), work.threads);
    parallel_for(
        work.threads, division.parts(), 1, [&](std::size_t number, std::size_t, unsigned worker) {
          run_part(division.part(number), {tiles, in, added, out}, kept, work.scratch[worker]);
        });
  }

 private:
  static constexpr std::size_t kFewTiles = 64;

  struct Tiles {
    const Shape& shape;
    std::size_t down;
    std::size_t right;

    [[nodiscard]] std::size_t count() const { return shape.count * down * right; }
  };

  struct Task {
    const Tiles& tiles;
    const float* in;
    const float* added;
    float* out;
  };

  // Narrow layers stay in the second-level cache; wide ones have to use their weights, which come
  // from further away, often.
  [[nodiscard]] std::size_t tiles_in_block() const {
    return weights().in + weights().out <= 256 ? 24 : 48;
  }

  void run_part(const Division::Part& part, const Task& task, const float* kept,
                Buffer& scratch) const {
    const std::size_t in = weights().in;
    const std::size_t count = part.end_place - part.first_place;
    // Panels that are made for one use are used one after the other.
    const std::size_t at_once = kept != nullptr ? part.end_panel - part.first_panel : 1;
    const std::size_t channels = at_once * kPanelChannels;
    const std::size_t made = kept != nullptr ? 0 : panels_.panel_size();
    float* points = scratch.room_for(kTilePoints * count * (in + channels) + made + in);
    float* products = points + kTilePoints * count * in;
    float* made_panel = products + kTilePoints * count * channels;
    float* zeros = made_panel + made;
    std::fill_n(zeros, in, 0.0F);
    for (std::size_t i = 0; i < count; ++i)
      transform_places(task, part.first_place + i, zeros, points + i * in, count * in);
    for (std::size_t panel = part.first_panel; panel < part.end_panel; panel += at_once) {
      if (kept == nullptr) panels_.make(panel, made_panel);
      const float* panels = kept != nullptr ? kept + panel * panels_.panel_size() : made_panel;
      multiply(points, panels, count, at_once, products);
      for (std::size_t i = 0; i < count; ++i)
        transform_products(task, part.first_place + i, products + i * channels, count * channels,
                           panel * kPanelChannels, channels);
    }
  }

  void transform_places(const Task& task, std::size_t tile, const float* zeros, float* points,
                        std::size_t point_step) const {
    const Shape& shape = task.tiles.shape;
    const auto [picture, top, left] = corner(task.tiles, tile);
    std::array<const float*, kTilePoints> places;
    for (std::size_t i = 0; i < kTilePlaces; ++i)
      for (std::size_t j = 0; j < kTilePlaces; ++j) {
        // Places count from the padding on.
        const std::size_t y = top + i;
        const std::size_t x = left + j;
        const bool is_inside = y > 0 && x > 0 && y <= shape.height && x <= shape.width;
        places[i * kTilePlaces + j] =
            is_inside
                ? task.in + ((picture * shape.height + y - 1) * shape.width + x - 1) * weights().in
                : zeros;
      }
    kernels::network_kernels().transform_places(places.data(), weights().in, points, point_step);
  }

  void multiply(const float* points, const float* panels, std::size_t count, std::size_t at_once,
                float* products) const {
    const std::size_t in = weights().in;
    const std::size_t channels = at_once * kPanelChannels;
    for (std::size_t point = 0; point < kTilePoints; ++point)
      for (std::size_t i = 0; i < at_once; ++i)
        kernels::network_kernels().multiply(
            {.rows = points + point * count * in,
             .row_stride = in,
             .count = count,
             .length = in,
             .panel = panels + i * panels_.panel_size() + point * in * kPanelChannels,
             .out = products + point * count * channels + i * kPanelChannels,
             .out_stride = channels},
            nullptr);
  }

  void transform_products(const Task& task, std::size_t tile, const float* products,
                          std::size_t point_step, std::size_t channel, std::size_t channels) const {
    const Shape& shape = task.tiles.shape;
    const auto [picture, top, left] = corner(task.tiles, tile);
    const std::size_t first =
        ((picture * shape.height + top) * shape.width + left) * weights().out + channel;
    kernels::network_kernels().transform_points(
        products, point_step, channels,
        {.out = task.out + first,
         .added = task.added != nullptr ? task.added + first : nullptr,
         .height = std::min(kTile, shape.height - top),
         .width = std::min(kTile, shape.width - left),
         .row_step = shape.width * weights().out,
         .place_step = weights().out},
        weights().bias.data() + channel, weights().slope);
  }

  struct Corner {
    std::size_t picture;
    std::size_t top;
    std::size_t left;
  };
  static Corner corner(const Tiles& tiles, std::size_t tile) {
    const std::size_t row = tile / tiles.right;
    return {row / tiles.down, row % tiles.down * kTile, tile % tiles.right * kTile};
  }

  Panels panels_;
};

}  // namespace

bool fits_winograd(const Weights& weights, std::size_t stride) {
  constexpr std::size_t lanes = 16;
  return weights.kernel == 3 && stride == 1 && weights.in % lanes == 0 &&
         weights.out % kPanelChannels == 0;
}

std::unique_ptr<Convolution> make_winograd(Weights weights) {
  return std::make_unique<WinogradConvolution>(std::move(weights));
}

}  // namespace deepvoro::native
