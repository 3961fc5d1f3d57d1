#include "convolution.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "deepvoro/core/parallel.hpp"

namespace deepvoro::native {
namespace {

using kernels::kPanelChannels;

// Products of rows and panels. A row is what a result depends on, gathered from the pictures unless
// it lies in them as a whole.
class ProductConvolution final : public Convolution {
 public:
  ProductConvolution(Weights weights, std::size_t stride)
      : Convolution(std::move(weights), stride),
        length_(this->weights().kernel * this->weights().kernel * this->weights().in),
        panels_(this->weights(), length_ * kPanelChannels, kernels::network_kernels().pack_panel) {}

  void run(const Shape& shape, const float* in, const float* added, float* out,
           Workspace& work) const override {
    const Shape result = result_of(shape);
    const bool is_few = result.places() <= kFewPlaces;
    const float* kept = panels_.kept(is_few, work.threads);
    const Division division(result.places(),
                            kept == nullptr && is_few ? result.places() : rows_in_block(),
                            panels_.count(), work.threads);
    parallel_for(work.threads, division.parts(), 1,
                 [&](std::size_t number, std::size_t, unsigned worker) {
                   run_part(division.part(number), {shape, result, in, added, out}, kept,
                            work.scratch[worker]);
                 });
  }

 private:
  static constexpr std::size_t kFewPlaces = 1024;

  struct Task {
    const Shape& shape;
    const Shape& result;
    const float* in;
    const float* added;
    float* out;
  };

  // As many as stay in the second-level cache together with a panel.
  [[nodiscard]] std::size_t rows_in_block() const {
    constexpr std::size_t numbers = 98304;
    return std::clamp<std::size_t>(numbers / length_ / 12 * 12, 24, 192);
  }

  // Rows a multiple of a page apart would share few places of the first-level cache.
  [[nodiscard]] bool collides() const { return length_ % 1024 == 0; }
  [[nodiscard]] bool lies_in_pictures() const {
    return weights().kernel == 1 && stride() == 1 && !collides();
  }

  void run_part(const Division::Part& part, const Task& task, const float* kept,
                Buffer& scratch) const {
    const std::size_t count = part.end_place - part.first_place;
    const std::size_t row_stride = collides() ? length_ + 16 : length_;
    const std::size_t gathered = lies_in_pictures() ? 0 : count * row_stride;
    const std::size_t made = kept != nullptr ? 0 : panels_.panel_size();
    float* rows = scratch.room_for(gathered + made + count * kPanelChannels);
    float* made_panel = rows + gathered;
    float* unfinished = made_panel + made;
    if (gathered > 0) gather(part, task, rows, row_stride);
    for (std::size_t panel = part.first_panel; panel < part.end_panel; ++panel) {
      if (kept == nullptr) panels_.make(panel, made_panel);
      multiply({.rows = gathered > 0 ? rows : task.in + part.first_place * length_,
                .row_stride = row_stride,
                .count = count,
                .length = length_,
                .panel = kept != nullptr ? kept + panel * panels_.panel_size() : made_panel,
                .out = task.out + part.first_place * weights().out + panel * kPanelChannels,
                .out_stride = weights().out},
               panel * kPanelChannels,
               task.added != nullptr
                   ? task.added + part.first_place * weights().out + panel * kPanelChannels
                   : nullptr,
               unfinished);
    }
  }

  void multiply(kernels::RowProducts products, std::size_t channel, const float* added,
                float* unfinished) const {
    const kernels::NetworkTable& kernel = kernels::network_kernels();
    const kernels::Finish finish{weights().bias.data() + channel, added, weights().slope};
    const std::size_t channels = std::min(kPanelChannels, weights().out - channel);
    if (channels == kPanelChannels) return kernel.multiply(products, &finish);
    float* out = std::exchange(products.out, unfinished);
    const std::size_t out_stride = std::exchange(products.out_stride, kPanelChannels);
    kernel.multiply(products, nullptr);
    for (std::size_t row = 0; row < products.count; ++row)
      for (std::size_t k = 0; k < channels; ++k) {
        float result = unfinished[row * kPanelChannels + k] + finish.bias[k];
        if (added != nullptr) result += added[row * out_stride + k];
        out[row * out_stride + k] = std::max(result, finish.slope * result);
      }
  }

  void gather(const Division::Part& part, const Task& task, float* rows,
              std::size_t row_stride) const {
    const std::size_t kernel = weights().kernel;
    const std::size_t in = weights().in;
    const std::size_t padding = kernel / 2;
    for (std::size_t place = part.first_place; place < part.end_place; ++place) {
      const std::size_t picture = place / (task.result.height * task.result.width);
      const std::size_t top = place / task.result.width % task.result.height * stride();
      const std::size_t left = place % task.result.width * stride();
      float* to = rows + (place - part.first_place) * row_stride;
      // Places count from the padding on.
      const std::size_t first_x = std::max(left, padding);
      const std::size_t end_x = std::min(left + kernel, task.shape.width + padding);
      for (std::size_t y = top; y < top + kernel; ++y, to += kernel * in) {
        const bool is_inside = y >= padding && y < task.shape.height + padding && first_x < end_x;
        if (!is_inside) {
          std::fill_n(to, kernel * in, 0.0F);
          continue;
        }
        const std::size_t before = (first_x - left) * in;
        const std::size_t inside = (end_x - first_x) * in;
        const float* from =
            task.in +
            ((picture * task.shape.height + y - padding) * task.shape.width + first_x - padding) *
                in;
        std::fill_n(to, before, 0.0F);
        std::copy_n(from, inside, to + before);
        std::fill_n(to + before + inside, kernel * in - before - inside, 0.0F);
      }
    }
  }

  std::size_t length_;
  Panels panels_;
};

class DepthwiseConvolution final : public Convolution {
 public:
  DepthwiseConvolution(Weights weights, std::size_t stride)
      : Convolution(std::move(weights), stride) {
    const std::size_t places = this->weights().kernel * this->weights().kernel;
    for (std::size_t place = 0; place < places; ++place)
      for (std::size_t c = 0; c < this->weights().out; ++c)
        by_place_.push_back(
            static_cast<float>(static_cast<double>(this->weights().values[c * places + place]) *
                               this->weights().factors[c]));
  }

  void run(const Shape& shape, const float* in, const float* /*added*/, float* out,
           Workspace& work) const override {
    const Shape result = result_of(shape);
    const std::vector<float> zeros(shape.channels);
    parallel_for(work.threads, result.count * result.height, 1,
                 [&](std::size_t row, std::size_t, unsigned) {
                   for (std::size_t x = 0; x < result.width; ++x)
                     run_place(shape, in, row / result.height, row % result.height, x, zeros.data(),
                               out + (row * result.width + x) * result.channels);
                 });
  }

 private:
  void run_place(const Shape& shape, const float* in, std::size_t picture, std::size_t y,
                 std::size_t x, const float* zeros, float* out) const {
    constexpr std::size_t most = 9;
    const std::size_t kernel = weights().kernel;
    const std::size_t padding = kernel / 2;
    std::array<const float*, most> places{};
    for (std::size_t i = 0; i < kernel; ++i)
      for (std::size_t j = 0; j < kernel; ++j) {
        const std::size_t from_y = y * stride() + i;
        const std::size_t from_x = x * stride() + j;
        const bool is_inside = from_y >= padding && from_y < shape.height + padding &&
                               from_x >= padding && from_x < shape.width + padding;
        places[i * kernel + j] =
            is_inside ? in + ((picture * shape.height + from_y - padding) * shape.width + from_x -
                              padding) *
                                 shape.channels
                      : zeros;
      }
    kernels::network_kernels().depthwise(places.data(), kernel * kernel, by_place_.data(),
                                         shape.channels, weights().bias.data(), weights().slope,
                                         out);
  }

  std::vector<float> by_place_;  // [places, channels]
};

std::size_t divided(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

}  // namespace

Shape Convolution::result_of(const Shape& in) const {
  return {in.count, divided(in.height, stride_), divided(in.width, stride_), weights_.out};
}

Division::Division(std::size_t places, std::size_t places_in_block, std::size_t panels,
                   unsigned threads)
    : places_(places),
      places_in_block_(std::max<std::size_t>(places_in_block, 1)),
      panels_(panels),
      blocks_(divided(places, places_in_block_)),
      groups_(
          std::min(panels, divided(2 * std::size_t{threads}, std::max<std::size_t>(blocks_, 1)))) {}

Division::Part Division::part(std::size_t number) const {
  const std::size_t block = number / groups_;
  const std::size_t group = number % groups_;
  return {block * places_in_block_, std::min(places_, (block + 1) * places_in_block_),
          group * panels_ / groups_, (group + 1) * panels_ / groups_};
}

std::unique_ptr<Convolution> make_convolution(Weights weights, std::size_t stride) {
  if (fits_winograd(weights, stride)) return make_winograd(std::move(weights));
  return std::make_unique<ProductConvolution>(std::move(weights), stride);
}

std::unique_ptr<Convolution> make_depthwise(Weights weights, std::size_t stride) {
  return std::make_unique<DepthwiseConvolution>(std::move(weights), stride);
}

}  // namespace deepvoro::native
