#include "backbone/torch/normalisation.hpp"

#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include "deepvoro/backbone/architecture.hpp"

namespace deepvoro {
namespace {

using torch::Tensor;

constexpr double kMomentum = 0.3;

Tensor by_channel(const Tensor& values) {
  return values.view({1, -1, 1, 1});
}

// Written out in double.
Tensor plainly_normalised(const Tensor& x, const Tensor& mean, const Tensor& variance,
                          const Tensor& weight, const Tensor& bias) {
  const Tensor scale = (by_channel(variance) + kNormalisationEpsilon).rsqrt();
  return ((x - by_channel(mean)) * scale * by_channel(weight) + by_channel(bias));
}

struct BatchShape {
  std::int64_t count;
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;
  double middle;  // far from 0 squares would cancel
};

// 12 channels are no whole number of vectors, more than 2048 too many.
const std::vector<BatchShape> kShapes{{4, 16, 9, 7, 0},   {3, 160, 21, 21, 1}, {2, 640, 5, 5, -20},
                                      {1, 8, 1, 2, 0},    {5, 12, 6, 6, 2},    {2, 2056, 3, 3, 0},
                                      {2, 2048, 4, 4, 0}, {64, 24, 40, 40, 5}};

// On CUDA in bfloat16, which keeps eight bits, in the order of networks.
class Rectification : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (is_cuda() && !at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
    torch::manual_seed(11);
  }

  [[nodiscard]] static bool is_cuda() { return std::string(GetParam()) == "cuda"; }

  // Numbers that a device can have exactly.
  [[nodiscard]] static Tensor made(torch::IntArrayRef shape, double scale, double shift) {
    const Tensor values = torch::randn(shape) * scale + shift;
    return shape.size() == 4 && is_cuda() ? values.to(torch::kBFloat16).to(torch::kFloat32)
                                          : values;
  }
  [[nodiscard]] static Tensor on_device(const Tensor& values) {
    Tensor moved = values.detach().to(is_cuda() ? torch::kCUDA : torch::kCPU);
    if (values.dim() == 4) moved = moved.contiguous(torch::MemoryFormat::ChannelsLast);
    return is_cuda() && values.dim() == 4 ? moved.to(torch::kBFloat16) : moved.clone();
  }
  [[nodiscard]] static Statistics statistics(std::int64_t channels) {
    return {made({channels}, 0.3, 1),
            made({channels}, 0.5, 0.1),
            made({channels}, 1, 0),
            made({channels}, 0.1, 1).abs(),
            true,
            kMomentum};
  }
  [[nodiscard]] static Statistics on_device(const Statistics& norm) {
    return {on_device(norm.weight),   on_device(norm.bias), on_device(norm.mean),
            on_device(norm.variance), norm.training,        norm.momentum};
  }

  static void expect_near(const Tensor& actual, const Tensor& expected, double tolerance,
                          const char* what) {
    const Tensor values = actual.detach().to(torch::kCPU, torch::kFloat64);
    ASSERT_EQ(values.sizes(), expected.sizes()) << what;
    const Tensor allowed = (expected.abs() + expected.abs().mean()) * tolerance;
    EXPECT_TRUE(((values - expected).abs() <= allowed).all().item<bool>())
        << what << ": off by " << (values - expected).abs().max().item<double>();
  }
  [[nodiscard]] static double of_activations() { return is_cuda() ? 5e-3 : 1e-4; }
  static constexpr double kOfChannels = 1e-4;

  // x, or a sum, in training.
  static void expect_the_plain_formula(const BatchShape& shape, bool adds) {
    const std::vector<std::int64_t> sizes{shape.count, shape.channels, shape.height, shape.width};
    const Tensor x = made(sizes, 2, shape.middle);
    const Tensor added = adds ? made(sizes, 1, 0.5) : Tensor();
    const Tensor of_values = made(sizes, 1, 0.2);
    const Tensor of_sum = made(sizes, 1, -0.1);
    const Statistics plain = statistics(shape.channels);
    const Statistics norm = on_device(plain);

    const auto in_double = [](const Tensor& values) {
      return values.detach().to(torch::kFloat64).set_requires_grad(true);
    };
    const Tensor sum = in_double(adds ? on_device(x + added).to(torch::kCPU) : x);
    const Tensor weight = in_double(plain.weight);
    const Tensor bias = in_double(plain.bias);
    const std::vector<std::int64_t> all{0, 2, 3};
    const Tensor mean = sum.mean(all);
    const Tensor variance = (sum - by_channel(mean)).square().mean(all);
    const Tensor normalised = plainly_normalised(sum, mean, variance, weight, bias);
    const Tensor expected = normalised.clamp_min(0);
    ((expected * of_values).sum() + (sum * of_sum).sum()).backward();

    const Tensor actual_x = on_device(x).set_requires_grad(true);
    const Tensor actual_added = adds ? on_device(added).set_requires_grad(true) : Tensor();
    norm.weight.set_requires_grad(true);
    norm.bias.set_requires_grad(true);
    const Statistics::Rectified rectified = norm.rectify({actual_x, actual_added});
    EXPECT_EQ(rectified.values.scalar_type(), actual_x.scalar_type());
    torch::autograd::backward({rectified.values, rectified.x},
                              {on_device(of_values), on_device(of_sum)});

    expect_near(rectified.values, expected.detach(), of_activations(), "values");
    expect_near(rectified.x, sum.detach(), 0, "sum");
    // Next to 0 rounding decides what is passed.
    const Tensor is_clear = normalised.detach().abs() > 1e-4;
    const Tensor expected_gradient = sum.grad() * is_clear;
    expect_near(actual_x.grad().cpu() * is_clear, expected_gradient, 2 * of_activations(),
                "gradient of x");
    if (adds) {
      expect_near(actual_added.grad().cpu() * is_clear, expected_gradient, 2 * of_activations(),
                  "gradient of what is added");
    }
    expect_near(norm.weight.grad(), weight.grad(), 10 * kOfChannels, "gradient of weights");
    expect_near(norm.bias.grad(), bias.grad(), 10 * kOfChannels, "gradient of biases");
    const auto rows = static_cast<double>(shape.count * shape.height * shape.width);
    const auto moved = [](const Tensor& running, const Tensor& value) {
      return running.to(torch::kFloat64) * (1 - kMomentum) + value.detach() * kMomentum;
    };
    expect_near(norm.mean, moved(plain.mean, mean), kOfChannels, "running mean");
    expect_near(norm.variance, moved(plain.variance, variance * rows / (rows - 1)), kOfChannels,
                "running variance");
  }
};

TEST_P(Rectification, HasTheValuesAndGradientsOfThePlainFormula) {
  for (const BatchShape& shape : kShapes)
    for (const bool adds : {false, true}) {
      SCOPED_TRACE(std::to_string(shape.channels) + (adds ? " channels, a sum" : " channels"));
      expect_the_plain_formula(shape, adds);
    }
}

TEST_P(Rectification, PassesGradientsOfOneResultAlone) {
  const Tensor x = made({3, 16, 5, 5}, 1, 0);
  const Tensor gradient = made({3, 16, 5, 5}, 1, 0);
  const Statistics plain = statistics(16);
  const auto gradient_of_x = [&](bool of_values, bool of_x) {
    const Tensor input = on_device(x).set_requires_grad(true);
    const Statistics::Rectified rectified = on_device(plain).rectify({input, {}});
    std::vector<Tensor> results;
    if (of_values) results.push_back(rectified.values);
    if (of_x) results.push_back(rectified.x);
    torch::autograd::backward(results, std::vector<Tensor>(results.size(), on_device(gradient)));
    return input.grad().detach().to(torch::kCPU, torch::kFloat64);
  };
  expect_near(gradient_of_x(false, true), gradient.to(torch::kFloat64), 0, "x alone");
  expect_near(gradient_of_x(true, false) + gradient.to(torch::kFloat64), gradient_of_x(true, true),
              2 * of_activations(), "values alone");
}

TEST_P(Rectification, UsesRunningStatisticsAfterTraining) {
  const torch::NoGradGuard no_gradients;
  const auto in_double = [](const Tensor& values) { return values.to(torch::kFloat64); };
  for (const BatchShape& shape : kShapes)
    for (const bool adds : {false, true}) {
      SCOPED_TRACE(std::to_string(shape.channels) + (adds ? " channels, a sum" : " channels"));
      const std::vector<std::int64_t> sizes{shape.count, shape.channels, shape.height, shape.width};
      const Tensor x = made(sizes, 2, 0.5);
      const Tensor added = adds ? made(sizes, 1, -0.5) : Tensor();
      Statistics plain = statistics(shape.channels);
      plain.training = false;
      const Statistics norm = on_device(plain);
      const Statistics::Rectified rectified =
          norm.rectify({on_device(x), adds ? on_device(added) : Tensor()});
      const Tensor sum = in_double(adds ? on_device(x + added).to(torch::kCPU) : x);
      expect_near(rectified.x, sum, 0, "sum");
      expect_near(rectified.values,
                  plainly_normalised(sum, in_double(plain.mean), in_double(plain.variance),
                                     in_double(plain.weight), in_double(plain.bias))
                      .clamp_min(0),
                  of_activations(), "values");
      EXPECT_TRUE(norm.mean.to(torch::kCPU).equal(plain.mean));
      EXPECT_TRUE(norm.variance.to(torch::kCPU).equal(plain.variance));
    }
}

// Also where no gradients are asked for: averaged weights have their statistics measured so.
TEST_P(Rectification, MovesRunningStatisticsWithoutGradients) {
  const torch::NoGradGuard no_gradients;
  const Tensor x = made({3, 16, 5, 5}, 1, 0);
  const Statistics plain = statistics(16);
  const Statistics norm = on_device(plain);
  (void)norm.rectify({on_device(x), {}});
  const Tensor mean = x.to(torch::kFloat64).mean({0, 2, 3});
  expect_near(norm.mean, plain.mean.to(torch::kFloat64) * (1 - kMomentum) + mean * kMomentum,
              kOfChannels, "running mean");
}

INSTANTIATE_TEST_SUITE_P(Devices, Rectification, ::testing::Values("cpu", "cuda"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace
}  // namespace deepvoro
