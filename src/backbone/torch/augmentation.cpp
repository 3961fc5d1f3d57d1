#include "augmentation.hpp"

#include <array>
#include <cmath>

#include "device.hpp"

namespace deepvoro {
namespace {

using torch::Tensor;

Tensor uniform(std::int64_t count, double low, double high) {
  return torch::rand({count}) * (high - low) + low;
}

// Each row maps places of the crop to places of the picture, both from -1 to 1.
Tensor crops(std::int64_t count, const TrainingOptions& options) {
  const double widest = std::log(4.0 / 3.0);
  const Tensor area = uniform(count, options.smallest_crop, 1);
  const Tensor aspect = uniform(count, -widest, widest).div_(2).exp_();
  const Tensor width = (area.sqrt() * aspect).clamp_max(1);
  const Tensor height = (area.sqrt() / aspect).clamp_max(1);
  const Tensor right = (1 - width) * uniform(count, -1, 1);
  const Tensor down = (1 - height) * uniform(count, -1, 1);
  const Tensor zero = torch::zeros({count});
  Tensor turn = torch::ones({count});
  if (options.flip) turn = 1 - 2 * torch::randint(2, {count}).to(torch::kFloat32);
  return torch::stack({width * turn, zero, right, zero, height, down}, 1).view({count, 2, 3});
}

Tensor jittered(Tensor x, double strength) {
  const std::int64_t count = x.size(0);
  const auto factor = [&] {
    return sent(uniform(count, 1 - strength, 1 + strength), x.device()).view({count, 1, 1, 1});
  };
  const auto grey = [](const Tensor& colours) {
    const auto channel = [&](std::int64_t c) { return colours.narrow(1, c, 1); };
    return 0.299 * channel(0) + 0.587 * channel(1) + 0.114 * channel(2);
  };
  x = (x * factor()).clamp_(0, 1);
  const Tensor mean = grey(x).mean(torch::IntArrayRef{1, 2, 3}, true);
  x = torch::lerp(mean.expand_as(x), x, factor()).clamp_(0, 1);
  return torch::lerp(grey(x).expand_as(x), x, factor()).clamp_(0, 1);
}

}  // namespace

Tensor augmented(const Tensor& bytes, const TrainingOptions& options) {
  const torch::NoGradGuard no_gradients;
  const std::int64_t count = bytes.size(0);
  const auto size = static_cast<std::int64_t>(options.size);
  const auto device = bytes.device();
  const auto channels = [&](const std::array<float, 3>& values) {
    return sent(torch::tensor({values[0], values[1], values[2]}), device).view({1, 3, 1, 1});
  };
  Tensor x = bytes.permute({0, 3, 1, 2}).to(torch::kFloat32).div_(255);
  const Tensor grid = torch::affine_grid_generator(sent(crops(count, options), device),
                                                   {count, 3, size, size}, false);
  constexpr int bilinear = 0;
  constexpr int border = 1;
  x = torch::grid_sampler_2d(x, grid, bilinear, border, false);
  if (options.jitter > 0) x = jittered(x, options.jitter);
  return x.sub_(channels(options.pixels.mean))
      .div_(channels(options.pixels.deviation))
      .contiguous(torch::MemoryFormat::ChannelsLast);
}

}  // namespace deepvoro
