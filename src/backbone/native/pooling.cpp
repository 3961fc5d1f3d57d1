#include "pooling.hpp"

#include <algorithm>

#include "deepvoro/core/parallel.hpp"
#include "kernels/network_kernels.hpp"

namespace deepvoro::native {
namespace {

constexpr std::size_t kPlacesAtOnce = 256;

}  // namespace

void pool(const Maps& x, const PlannedPool& pool, JoinPlaces join, unsigned threads, Maps& to) {
  const std::size_t height = x.shape.height;
  const std::size_t width = x.shape.width;
  const std::size_t channels = x.shape.channels;
  const auto along = [&](std::size_t side) {
    return (side + 2 * pool.padding - pool.side) / pool.stride + 1;
  };
  const Shape result{x.shape.count, along(height), along(width), channels};
  float* out = to.reshaped(result);
  parallel_for(
      threads, result.count * result.height, 1, [&](std::size_t row, std::size_t, unsigned) {
        // Places count from the padding on, which is left out.
        const std::size_t top = row % result.height * pool.stride;
        const std::size_t first_y = std::max(top, pool.padding) - pool.padding;
        const std::size_t end_y = std::min(top + pool.side, height + pool.padding) - pool.padding;
        const float* picture = x.values() + row / result.height * height * width * channels;
        std::vector<const float*> places;
        for (std::size_t i = 0; i < result.width; ++i) {
          const std::size_t left = i * pool.stride;
          const std::size_t first_x = std::max(left, pool.padding) - pool.padding;
          const std::size_t end_x = std::min(left + pool.side, width + pool.padding) - pool.padding;
          places.clear();
          for (std::size_t from_y = first_y; from_y < end_y; ++from_y)
            for (std::size_t from_x = first_x; from_x < end_x; ++from_x)
              places.push_back(picture + (from_y * width + from_x) * channels);
          join(places.data(), places.size(), channels, out + (row * result.width + i) * channels);
        }
      });
}

void rectify(const Maps& x, const std::vector<float>& factors, const std::vector<float>& shifts,
             unsigned threads, Maps& to) {
  float* out = to.reshaped(x.shape);
  parallel_for(threads, x.shape.places(), kPlacesAtOnce,
               [&](std::size_t begin, std::size_t end, unsigned) {
                 kernels::network_kernels().rectify(x.values() + begin * x.shape.channels,
                                                    end - begin, x.shape.channels, factors.data(),
                                                    shifts.data(), out + begin * x.shape.channels);
               });
}

void concatenate(const Maps& x, const Maps& other, unsigned threads, Maps& to) {
  Shape result = x.shape;
  result.channels += other.shape.channels;
  float* out = to.reshaped(result);
  parallel_for(
      threads, result.places(), kPlacesAtOnce, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t place = begin; place < end; ++place) {
          float* next = std::copy_n(x.values() + place * x.shape.channels, x.shape.channels,
                                    out + place * result.channels);
          std::copy_n(other.values() + place * other.shape.channels, other.shape.channels, next);
        }
      });
}

void average_over_places(const Maps& x, unsigned threads, float* out) {
  const std::size_t count = x.shape.height * x.shape.width;
  parallel_for(threads, x.shape.count, 1, [&](std::size_t picture, std::size_t, unsigned) {
    std::vector<const float*> places(count);
    for (std::size_t i = 0; i < count; ++i)
      places[i] = x.values() + (picture * count + i) * x.shape.channels;
    kernels::network_kernels().mean(places.data(), count, x.shape.channels,
                                    out + picture * x.shape.channels);
  });
}

}  // namespace deepvoro::native
