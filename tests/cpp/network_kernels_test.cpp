#include "kernels/network_kernels.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace deepvoro::kernels {
namespace {

class NetworkKernelTest : public ::testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (table(GetParam()) == nullptr) GTEST_SKIP() << "this processor has no " << name(GetParam());
  }

  std::vector<float> noise(std::size_t count) {
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(random_);
    return values;
  }

  // What a kernel makes at this level, after a look at whether the generic level makes the same.
  template <class Run>
  std::vector<float> same_everywhere(std::size_t size, const Run& run) {
    std::vector<float> out(size, -7);
    std::vector<float> generic(size, -7);
    run(network_table(GetParam()), out.data());
    run(network_table(Level::generic), generic.data());
    EXPECT_EQ(out, generic);
    return out;
  }

 private:
  std::mt19937 random_{1};
};

INSTANTIATE_TEST_SUITE_P(Levels, NetworkKernelTest,
                         ::testing::Values(Level::generic, Level::avx2, Level::avx512, Level::neon),
                         [](const auto& level) { return std::string(name(level.param)); });

TEST_P(NetworkKernelTest, ProductsAreSumsInOrder) {
  constexpr std::size_t stride = 61;
  constexpr std::size_t out_stride = 40;
  for (const std::size_t length : {1UL, 16UL, 59UL})
    for (std::size_t count = 1; count < 30; ++count) {
      const std::vector<float> rows = noise(count * stride);
      const std::vector<float> panel = noise(length * kPanelChannels);
      const std::vector<float> bias = noise(kPanelChannels);
      const std::vector<float> added = noise(count * out_stride);
      const Finish finish{bias.data(), added.data(), 0.25F};
      for (const bool is_finished : {false, true}) {
        const std::vector<float> out =
            same_everywhere(count * out_stride, [&](const NetworkTable& kernels, float* to) {
              kernels.multiply({rows.data(), stride, count, length, panel.data(), to, out_stride},
                               is_finished ? &finish : nullptr);
            });
        for (std::size_t r = 0; r < count; ++r) {
          for (std::size_t k = 0; k < kPanelChannels; ++k) {
            float expected = 0;
            for (std::size_t c = 0; c < length; ++c)
              expected = std::fma(rows[r * stride + c], panel[c * kPanelChannels + k], expected);
            if (is_finished) {
              expected = expected + bias[k] + added[r * out_stride + k];
              if (expected < 0) expected *= 0.25F;
            }
            ASSERT_EQ(out[r * out_stride + k], expected);
          }
          for (std::size_t k = kPanelChannels; k < out_stride; ++k)
            ASSERT_EQ(out[r * out_stride + k], -7) << "beyond the panel";
        }
      }
    }
}

TEST_P(NetworkKernelTest, PanelsHoldScaledWeightsAndZeros) {
  constexpr std::size_t in = 21;
  constexpr std::size_t places = 9;
  for (const std::size_t channels : {5UL, kPanelChannels}) {
    const std::vector<float> weights = noise(channels * in * places);
    const std::vector<float> of_channels = noise(channels);
    const std::vector<double> factors(of_channels.begin(), of_channels.end());
    const std::vector<float> panel =
        same_everywhere(places * in * kPanelChannels, [&](const NetworkTable& kernels, float* to) {
          kernels.pack_panel({weights.data(), in, places, channels, factors.data()}, to);
        });
    for (std::size_t place = 0; place < places; ++place)
      for (std::size_t c = 0; c < in; ++c)
        for (std::size_t k = 0; k < kPanelChannels; ++k) {
          const double expected =
              k < channels ? double{weights[(k * in + c) * places + place]} * factors[k] : 0;
          ASSERT_EQ(panel[(place * in + c) * kPanelChannels + k], static_cast<float>(expected));
        }
  }
}

// One tile, through all three transformations, is a plain convolution.
TEST_P(NetworkKernelTest, TilesAreConvolutions) {
  constexpr std::size_t in = 32;
  const std::vector<float> places = noise(kTilePoints * in);
  const std::vector<float> weights = noise(kPanelChannels * in * 9);
  const std::vector<double> factors(kPanelChannels, 1);
  const std::vector<float> bias = noise(kPanelChannels);
  std::array<const float*, kTilePoints> sources{};
  for (std::size_t i = 0; i < kTilePoints; ++i) sources[i] = places.data() + i * in;
  const std::vector<float> panel = same_everywhere(
      kTilePoints * in * kPanelChannels, [&](const NetworkTable& kernels, float* to) {
        kernels.pack_tile_panel({weights.data(), in, 9, kPanelChannels, factors.data()}, to);
      });
  const std::vector<float> points =
      same_everywhere(kTilePoints * in, [&](const NetworkTable& kernels, float* to) {
        kernels.transform_places(sources.data(), in, to, in);
      });
  const std::vector<float> products =
      same_everywhere(kTilePoints * kPanelChannels, [&](const NetworkTable& kernels, float* to) {
        for (std::size_t point = 0; point < kTilePoints; ++point)
          kernels.multiply(
              {points.data() + point * in, in, 1, in, panel.data() + point * in * kPanelChannels,
               to + point * kPanelChannels, kPanelChannels},
              nullptr);
      });
  const std::vector<float> results =
      same_everywhere(kTile * kTile * kPanelChannels, [&](const NetworkTable& kernels, float* to) {
        kernels.transform_points(
            products.data(), kPanelChannels, kPanelChannels,
            {to, nullptr, kTile, kTile, kTile * kPanelChannels, kPanelChannels}, bias.data(), 1);
      });
  for (std::size_t y = 0; y < kTile; ++y)
    for (std::size_t x = 0; x < kTile; ++x)
      for (std::size_t k = 0; k < kPanelChannels; ++k) {
        double expected = bias[k];
        for (std::size_t c = 0; c < in; ++c)
          for (std::size_t i = 0; i < 9; ++i)
            expected += double{sources[(y + i / 3) * kTilePlaces + x + i % 3][c]} *
                        double{weights[(k * in + c) * 9 + i]};
        EXPECT_NEAR(results[(y * kTile + x) * kPanelChannels + k], expected, 1e-3);
      }
}

TEST_P(NetworkKernelTest, PlacesAreJoined) {
  for (const std::size_t channels : {1UL, 16UL, 100UL}) {
    const std::vector<float> values = noise(5 * channels);
    std::vector<const float*> places;
    for (std::size_t i = 0; i < 5; ++i) places.push_back(values.data() + i * channels);
    const auto joined = [&](auto kernel) {
      return same_everywhere(channels, [&](const NetworkTable& kernels, float* to) {
        (kernels.*kernel)(places.data(), places.size(), channels, to);
      });
    };
    const std::vector<float> largest = joined(&NetworkTable::largest);
    const std::vector<float> mean = joined(&NetworkTable::mean);
    for (std::size_t c = 0; c < channels; ++c) {
      double sum = 0;
      float most = -std::numeric_limits<float>::infinity();
      for (const float* place : places) {
        sum += double{place[c]};
        most = std::max(most, place[c]);
      }
      EXPECT_EQ(largest[c], most);
      EXPECT_EQ(mean[c], static_cast<float>(sum / 5));
    }
  }
}

TEST_P(NetworkKernelTest, RectifiesEachChannelByItsOwn) {
  const std::vector<float> x = noise(3 * 48);
  const std::vector<float> factors = noise(48);
  const std::vector<float> shifts = noise(48);
  const std::vector<float> out =
      same_everywhere(x.size(), [&](const NetworkTable& kernels, float* to) {
        kernels.rectify(x.data(), 3, 48, factors.data(), shifts.data(), to);
      });
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(out[i],
                std::max(0.0, double{x[i]} * double{factors[i % 48]} + double{shifts[i % 48]}),
                1e-5);
}

TEST_P(NetworkKernelTest, FindsWhatIsNotFinite) {
  const auto all_finite = network_table(GetParam()).all_finite;
  std::vector<float> values = noise(37);
  values[5] = -std::numeric_limits<float>::max();
  EXPECT_TRUE(all_finite(values.data(), values.size()));
  for (const std::size_t at : {0UL, 16UL, 36UL})
    for (const float bad : {std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(), std::nanf("")}) {
      std::vector<float> spoiled = values;
      spoiled[at] = bad;
      EXPECT_FALSE(all_finite(spoiled.data(), spoiled.size())) << at;
    }
}

}  // namespace
}  // namespace deepvoro::kernels
