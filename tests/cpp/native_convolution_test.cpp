#include "backbone/native/convolution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace deepvoro::native {
namespace {

std::vector<float> noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  std::ranges::generate(values, [&] { return normal(random); });
  return values;
}

struct Layer {
  std::size_t in;
  std::size_t out;
  std::size_t kernel = 3;
  std::size_t stride = 1;
  std::size_t groups = 1;
  float slope = 0;

  [[nodiscard]] Weights weights() const {
    const auto values =
        std::make_shared<const std::vector<float>>(noise(out * in / groups * kernel * kernel, 2));
    Weights weights{.memory = values,
                    .values = *values,
                    .factors = {},
                    .bias = noise(out, 3),
                    .in = in / groups,
                    .out = out,
                    .kernel = kernel,
                    .slope = slope};
    for (const float factor : noise(out, 5)) weights.factors.push_back(1 + 0.1 * double{factor});
    return weights;
  }

  [[nodiscard]] std::unique_ptr<Convolution> made() const {
    return groups > 1 ? make_depthwise(weights(), stride) : make_convolution(weights(), stride);
  }
};

std::vector<float> results(const Convolution& convolution, const Shape& shape,
                           const std::vector<float>& pictures, const std::vector<float>& added,
                           unsigned threads) {
  Workspace work(threads);
  std::vector<float> out(convolution.result_of(shape).size(), NAN);
  convolution.run(shape, pictures.data(), added.empty() ? nullptr : added.data(), out.data(), work);
  return out;
}

// The definition, in double.
std::vector<double> plain_convolution(const Layer& layer, const Shape& shape, const Shape& result,
                                      const std::vector<float>& pictures,
                                      const std::vector<float>& added) {
  const Weights weights = layer.weights();
  const std::size_t padding = layer.kernel / 2;
  const std::size_t in = layer.in / layer.groups;
  std::vector<double> results;
  for (std::size_t n = 0; n < result.count; ++n)
    for (std::size_t y = 0; y < result.height; ++y)
      for (std::size_t x = 0; x < result.width; ++x)
        for (std::size_t o = 0; o < layer.out; ++o) {
          double sum = 0;
          for (std::size_t dy = 0; dy < layer.kernel; ++dy)
            for (std::size_t dx = 0; dx < layer.kernel; ++dx) {
              const std::size_t from_y = y * layer.stride + dy;
              const std::size_t from_x = x * layer.stride + dx;
              if (from_y < padding || from_y >= shape.height + padding || from_x < padding ||
                  from_x >= shape.width + padding)
                continue;
              const std::size_t place =
                  (n * shape.height + from_y - padding) * shape.width + from_x - padding;
              for (std::size_t i = 0; i < in; ++i)
                sum +=
                    double{pictures[place * layer.in + (layer.groups > 1 ? o : i)]} *
                    double{weights.values[((o * in + i) * layer.kernel + dy) * layer.kernel + dx]};
            }
          sum = sum * weights.factors[o] + double{weights.bias[o]};
          if (!added.empty()) sum += double{added[results.size()]};
          results.push_back(sum < 0 ? sum * double{layer.slope} : sum);
        }
  return results;
}

void expect_plain_result(const Layer& layer, const Shape& shape, bool has_added = false) {
  SCOPED_TRACE(testing::Message() << layer.in << " -> " << layer.out << ", kernel " << layer.kernel
                                  << ", stride " << layer.stride << ", " << shape.count << " x "
                                  << shape.height << " x " << shape.width);
  const auto convolution = layer.made();
  const Shape result = convolution->result_of(shape);
  const std::vector<float> pictures = noise(shape.size(), 1);
  const std::vector<float> added = has_added ? noise(result.size(), 4) : std::vector<float>();
  const std::vector<double> expected = plain_convolution(layer, shape, result, pictures, added);
  const std::vector<float> actual = results(*convolution, shape, pictures, added, 1);
  // Factors are up to a third above 1.
  const double products = static_cast<double>(layer.kernel * layer.kernel * layer.in);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], 4e-5 * std::sqrt(products)) << "value " << i;
  // The first uses forget the weights that they make, later ones keep them; and threads divide
  // the work otherwise.
  for (const unsigned threads : {1U, 2U, 3U, 1U, 2U, 3U, 1U, 2U, 3U, 4U})
    ASSERT_EQ(results(*convolution, shape, pictures, added, threads), actual) << threads;
}

TEST(NativeConvolution, AgreesWithThePlainOneAroundTheSizeOfATile) {
  for (const std::size_t height : {1UL, 3UL, 4UL, 5UL, 8UL, 9UL})
    for (const std::size_t width : {1UL, 2UL, 4UL, 7UL, 8UL})
      expect_plain_result({.in = 16, .out = 32}, {2, height, width, 16});
}

TEST(NativeConvolution, AgreesAtManyNumbersOfChannels) {
  for (const std::size_t in : {3UL, 16UL, 48UL, 160UL})
    for (const std::size_t out : {7UL, 32UL, 40UL, 160UL})
      for (const std::size_t kernel : {1UL, 3UL})
        expect_plain_result({.in = in, .out = out, .kernel = kernel}, {3, 6, 6, in});
}

TEST(NativeConvolution, AgreesWithStridesAndLargeKernels) {
  for (const std::size_t side : {1UL, 2UL, 9UL, 14UL})
    for (const std::size_t kernel : {1UL, 3UL, 7UL})
      expect_plain_result({.in = 5, .out = 64, .kernel = kernel, .stride = 2}, {2, side, 11, 5});
}

TEST(NativeConvolution, AgreesWhereRowsAreAPageApart) {
  expect_plain_result({.in = 1024, .out = 64, .kernel = 1}, {1, 5, 5, 1024}, true);
}

TEST(NativeConvolution, AddsAShortcutBeforeTheSlope) {
  for (const float slope : {0.0F, 0.1F, 1.0F})
    for (const std::size_t kernel : {1UL, 3UL})
      for (const std::size_t out : {32UL, 33UL})
        for (const bool has_added : {false, true})
          expect_plain_result({.in = 32, .out = out, .kernel = kernel, .slope = slope},
                              {2, 10, 6, 32}, has_added);
}

TEST(NativeConvolution, ManyPicturesFillManyBlocks) {
  for (const std::size_t kernel : {1UL, 3UL})
    expect_plain_result({.in = 32, .out = 32, .kernel = kernel}, {40, 9, 9, 32}, true);
}

TEST(NativeConvolution, OfEachChannelAlone) {
  for (const std::size_t stride : {1UL, 2UL})
    for (const std::size_t side : {1UL, 5UL, 8UL})
      expect_plain_result({.in = 48, .out = 48, .stride = stride, .groups = 48}, {2, side, 7, 48});
}

TEST(NativeConvolution, APictureDoesNotDependOnTheOthers) {
  for (const std::size_t kernel : {1UL, 3UL, 7UL}) {
    const Layer layer{.in = 32, .out = 64, .kernel = kernel};
    const Shape all{50, 7, 7, 32};
    const Shape one{1, 7, 7, 32};
    const std::vector<float> pictures = noise(all.size(), 6);
    const std::vector<float> together = results(*layer.made(), all, pictures, {}, 2);
    for (const std::size_t picture : {0UL, 31UL, 49UL}) {
      const auto first = pictures.begin() + static_cast<std::ptrdiff_t>(picture * one.size());
      const std::vector<float> alone = results(
          *layer.made(), one, {first, first + static_cast<std::ptrdiff_t>(one.size())}, {}, 1);
      EXPECT_TRUE(std::ranges::equal(
          alone, std::span(together).subspan(picture * alone.size(), alone.size())))
          << "kernel " << kernel << ", picture " << picture;
    }
  }
}

}  // namespace
}  // namespace deepvoro::native
