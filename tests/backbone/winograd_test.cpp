#include "backbone/torch/winograd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace deepvoro {
namespace {

struct Shape {
  std::size_t pictures;
  std::size_t height;
  std::size_t width;
  std::size_t in;
  std::size_t out;
};

std::vector<float> noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  std::ranges::generate(values, [&] { return normal(random); });
  return values;
}

// The definition, in double.
std::vector<double> plain_convolution(const Shape& shape, const std::vector<float>& pictures,
                                      const std::vector<float>& weights,
                                      const std::vector<float>& bias,
                                      const std::vector<float>& added, double slope) {
  std::vector<double> results;
  for (std::size_t n = 0; n < shape.pictures; ++n)
    for (std::size_t y = 0; y < shape.height; ++y)
      for (std::size_t x = 0; x < shape.width; ++x)
        for (std::size_t o = 0; o < shape.out; ++o) {
          double sum = bias[o];
          for (std::size_t dy = 0; dy < 3; ++dy)
            for (std::size_t dx = 0; dx < 3; ++dx) {
              if (y + dy < 1 || y + dy > shape.height || x + dx < 1 || x + dx > shape.width)
                continue;
              const std::size_t place = (n * shape.height + y + dy - 1) * shape.width + x + dx - 1;
              for (std::size_t i = 0; i < shape.in; ++i)
                sum += double{pictures[place * shape.in + i]} *
                       double{weights[((o * shape.in + i) * 3 + dy) * 3 + dx]};
            }
          if (!added.empty()) sum += added[results.size()];
          results.push_back(sum < 0 ? sum * slope : sum);
        }
  return results;
}

void expect_plain_result(const Shape& shape, float slope, bool has_added) {
  ASSERT_TRUE(Winograd::fits(shape.in, shape.out));
  const std::size_t places = shape.pictures * shape.height * shape.width;
  const std::vector<float> pictures = noise(places * shape.in, 1);
  const std::vector<float> weights = noise(shape.out * shape.in * 9, 2);
  const std::vector<float> bias = noise(shape.out, 3);
  const std::vector<float> added = has_added ? noise(places * shape.out, 4) : std::vector<float>();
  const std::vector<double> expected =
      plain_convolution(shape, pictures, weights, bias, added, slope);
  const double tolerance = 3e-5 * std::sqrt(9.0 * static_cast<double>(shape.in));
  for (const WinogradKernel kernel : winograd_kernels()) {
    std::vector<float> results(places * shape.out, NAN);
    const Winograd winograd(weights.data(), bias.data(), shape.in, shape.out, slope, kernel);
    const Winograd::Pictures task{
        pictures.data(), results.data(), has_added ? added.data() : nullptr,
        shape.pictures,  shape.height,   shape.width};
    // Blocks one by one and backwards: none depends on another.
    for (std::size_t block = winograd.blocks(task); block-- > 0;)
      winograd.run(task, block, block + 1);
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(results[i], expected[i], tolerance) << "value " << i;
  }
}

class WinogradTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (winograd_kernels().empty()) GTEST_SKIP() << "this processor has no AVX2";
  }
};

TEST_F(WinogradTest, AgreesWithThePlainConvolutionAroundTheSizeOfATile) {
  for (const std::size_t height : {1UL, 3UL, 4UL, 5UL, 8UL, 9UL})
    for (const std::size_t width : {1UL, 2UL, 4UL, 7UL, 8UL})
      expect_plain_result({2, height, width, 16, 32}, 0, false);
}

TEST_F(WinogradTest, AgreesAtManyNumbersOfChannels) {
  for (const std::size_t in : {16UL, 32UL, 48UL, 160UL})
    for (const std::size_t out : {32UL, 64UL, 160UL})
      expect_plain_result({3, 6, 6, in, out}, 0, false);
}

TEST_F(WinogradTest, AddsAShortcutBeforeTheSlope) {
  for (const float slope : {0.0F, 0.1F, 1.0F}) {
    expect_plain_result({2, 10, 6, 32, 32}, slope, true);
    expect_plain_result({2, 10, 6, 32, 32}, slope, false);
  }
}

TEST_F(WinogradTest, ManyPicturesFillManyBlocks) {
  expect_plain_result({40, 9, 9, 32, 32}, 0, true);
}

}  // namespace
}  // namespace deepvoro
