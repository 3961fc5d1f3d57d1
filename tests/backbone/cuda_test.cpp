#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <random>

#include "backbone/torch/library.hpp"
#include "backbone/torch/network_file.hpp"
#include "deepvoro/backbone/training.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

class Cuda : public ::testing::TestWithParam<Architecture> {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
    folder_ = fs::path(::testing::TempDir()) / ("cuda_test" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

std::vector<Bitmap> noisy_pictures(std::size_t count, std::size_t side) {
  std::mt19937 random(3);
  std::vector<Bitmap> pictures(count, {side, side, std::vector<std::uint8_t>(3 * side * side)});
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t p = 0; p < pictures[i].pixels.size(); ++p)
      pictures[i].pixels[p] = static_cast<std::uint8_t>(random() % (64 + 64 * (i % 4)));
  return pictures;
}

// bfloat16 keeps eight bits of every value, float32 twenty-four.
TEST_P(Cuda, FeaturesPointWhereThoseOfTheCpuDo) {
  torch::manual_seed(1);
  const Network network(GetParam());
  ModelDescription description;
  description.architecture = GetParam();
  const fs::path model = folder_ / "model.safetensors";
  write_network(model, description, network.tensors());
  const std::vector<Bitmap> pictures = noisy_pictures(5, 64);
  const auto features = [&](const std::unique_ptr<Backbone>& backbone) {
    std::vector<float> rows(pictures.size() * backbone->dim());
    backbone->embed(pictures, rows);
    return rows;
  };
  const std::vector<float> expected = features(open_network(model));
  const std::vector<float> actual =
      features(deepvoro_backbone_library()->open(model, {.device = "cuda"}));
  ASSERT_EQ(actual.size(), expected.size());
  const std::size_t dim = network.dim();
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    double product = 0;
    double square = 0;
    double expected_square = 0;
    for (std::size_t j = i * dim; j < (i + 1) * dim; ++j) {
      product += double{actual[j]} * expected[j];
      square += double{actual[j]} * actual[j];
      expected_square += double{expected[j]} * expected[j];
    }
    EXPECT_GT(product / std::sqrt(square * expected_square), 0.999) << i;
    EXPECT_NEAR(std::sqrt(square / expected_square), 1, 0.03) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Cuda,
                         ::testing::Values(Architecture{.name = "conv4"},
                                           Architecture{.name = "resnet12"},
                                           Architecture{.name = "resnet18", .first_stride = 2},
                                           Architecture{.name = "wrn-28-10"},
                                           Architecture{.name = "densenet121"}));

}  // namespace
}  // namespace deepvoro
