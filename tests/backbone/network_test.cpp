#include "backbone/torch/network.hpp"

#include <gtest/gtest.h>

#include <set>

#include "../cpp/expect_error.hpp"

namespace deepvoro {
namespace {

using test::expect_error;

struct Expected {
  Architecture architecture;
  std::int64_t parameters;
  std::int64_t dim;
};

void PrintTo(const Expected& expected, std::ostream* out) {
  *out << expected.architecture.name;
}

// Counts of the papers and of torchvision less the classifier: 113,088 (Conv-4), 12,424,320
// (ResNet-12), 36,479,194 - 6,410 (WRN-28-10), 11,689,512 - 513,000 (ResNet-18 of ImageNet), and so
// on.
const std::vector<Expected> kNetworks{
    {{.name = "conv4"}, 113'088, 64},
    {{.name = "conv4", .widths = {32, 64, 128, 128}}, 241'536, 128},
    {{.name = "conv4", .embedding = 2}, 113'218, 2},
    {{.name = "resnet10"}, 4'898'112, 512},
    {{.name = "resnet12"}, 12'424'320, 640},
    {{.name = "resnet18"}, 11'168'832, 512},
    {{.name = "resnet18", .imagenet_stem = true}, 11'176'512, 512},
    {{.name = "resnet34"}, 21'276'992, 512},
    {{.name = "resnet34", .imagenet_stem = true}, 21'284'672, 512},
    {{.name = "resnet50"}, 23'500'352, 2048},
    {{.name = "resnet50", .imagenet_stem = true}, 23'508'032, 2048},
    {{.name = "wrn-28-10"}, 36'472'784, 640},
    {{.name = "densenet121"}, 6'946'176, 1024},
    {{.name = "densenet121", .imagenet_stem = true}, 6'953'856, 1024},
    {{.name = "mobilenet"}, 3'206'976, 1024},
    {{.name = "conv4", .first_stride = 2}, 113'088, 64},
    {{.name = "resnet12", .first_stride = 2}, 12'424'320, 640},
    {{.name = "resnet18", .first_stride = 2}, 11'168'832, 512},
    // 48 channels more: 48 * (3 * 9 + 2 + 160 * 9 + 160) parameters
    {{.name = "wrn-28-10", .first_stride = 2}, 36'472'784 + 78'192, 640},
};

class NetworkTable : public ::testing::TestWithParam<Expected> {};

TEST_P(NetworkTable, HasTheKnownNumberOfParameters) {
  const Network network(GetParam().architecture, Network::Weights::absent);
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : network.parameters()) count += parameter.numel();
  EXPECT_EQ(count, GetParam().parameters);
  EXPECT_EQ(static_cast<std::int64_t>(network.dim()), GetParam().dim);
  EXPECT_EQ(feature_count(GetParam().architecture), network.dim());
}

TEST_P(NetworkTable, NamesItsTensorsOnce) {
  const Network network(GetParam().architecture, Network::Weights::absent);
  std::set<std::string> names;
  for (const NamedTensor& entry : network.tensors())
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
}

TEST_P(NetworkTable, MapsPicturesOfAnySize) {
  torch::manual_seed(1);
  const torch::NoGradGuard no_gradients;
  const Network network(GetParam().architecture);
  for (const std::int64_t size : {32, 45}) {
    const torch::Tensor features = network.forward(torch::randn({2, 3, size, size}));
    EXPECT_EQ(features.sizes(), (torch::IntArrayRef{2, GetParam().dim}));
    EXPECT_TRUE(features.isfinite().all().item<bool>());
    EXPECT_GT(features.abs().max().item<float>(), 0);
  }
}

TEST_P(NetworkTable, FoldsItsNormalisations) {
  torch::manual_seed(2);
  const torch::NoGradGuard no_gradients;
  Network network(GetParam().architecture);
  for (const NamedTensor& entry : network.tensors())
    if (entry.tensor->dim() == 1)
      entry.name.ends_with("running_var")
          ? entry.tensor->uniform_(0.5, 1.5)
          : entry.tensor->add_(0.1 * torch::randn_like(*entry.tensor));
  const torch::Tensor pictures = torch::randn({2, 3, 32, 32});
  const torch::Tensor before = network.forward(pictures);
  network.fold_normalisations();
  const torch::Tensor after = network.forward(pictures);
  const double scale = std::max(1.0, before.abs().max().item<double>());
  EXPECT_LT((after - before).abs().max().item<double>() / scale, 1e-5);
}

TEST_P(NetworkTable, PassesGradientsToEveryParameter) {
  torch::manual_seed(3);
  Network network(GetParam().architecture);
  network.set_training(true);
  network.forward(torch::randn({4, 3, 32, 32})).pow(2).sum().backward();
  for (const NamedTensor& entry : network.tensors()) {
    if (!entry.is_parameter) continue;
    ASSERT_TRUE(entry.tensor->grad().defined()) << entry.name;
    EXPECT_TRUE(entry.tensor->grad().isfinite().all().item<bool>()) << entry.name;
    // A shift before a normalisation has no effect.
    const bool is_shift = GetParam().architecture.name == "conv4" && entry.name.ends_with("C.bias");
    if (!is_shift) {
      EXPECT_GT(entry.tensor->grad().abs().max().item<float>(), 0) << entry.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NetworkTable, ::testing::ValuesIn(kNetworks));

TEST(Network, TrainingUpdatesTheStatisticsAndEvaluationDoesNot) {
  torch::manual_seed(4);
  const torch::NoGradGuard no_gradients;
  Network network({.name = "conv4"});
  const auto statistic = [&] { return network.tensors()[4].tensor->clone(); };
  ASSERT_EQ(network.tensors()[4].name, "trunk.0.BN.running_mean");
  const torch::Tensor start = statistic();
  (void)network.forward(torch::randn({4, 3, 32, 32}));
  EXPECT_TRUE(statistic().equal(start));
  network.set_training(true);
  (void)network.forward(torch::randn({4, 3, 32, 32}));
  EXPECT_FALSE(statistic().equal(start));
}

TEST(Network, MixesWhatAStageIsFed) {
  torch::manual_seed(5);
  const torch::NoGradGuard no_gradients;
  const Network network({.name = "conv4"});
  const torch::Tensor pictures = torch::randn({3, 3, 32, 32});
  const torch::Tensor order = torch::tensor({1, 2, 0}, torch::kInt64);
  const torch::Tensor plain = network.forward(pictures);
  for (std::size_t stage = 0; stage < network.stages(); ++stage) {
    EXPECT_TRUE(network.forward(pictures, Mix{stage, order, 1.0}).allclose(plain));
    EXPECT_TRUE(
        network.forward(pictures, Mix{stage, order, 0.0}).allclose(plain.index_select(0, order)));
    EXPECT_FALSE(network.forward(pictures, Mix{stage, order, 0.5}).allclose(plain));
  }
}

// A normalisation that only shifts values far above 0 makes the rectifier linear, so that mixing
// before it mixes features.
TEST(Network, WideOnesAreMixedBeforeTheirLastNormalisation) {
  torch::manual_seed(8);
  const torch::NoGradGuard no_gradients;
  const Network network({.name = "wrn-28-10"});
  for (const NamedTensor& entry : network.tensors())
    if (entry.name == "bn1.bias") entry.tensor->fill_(1000);
  ASSERT_EQ(network.stages(), 4U);
  const torch::Tensor pictures = torch::randn({3, 3, 16, 16});
  const torch::Tensor order = torch::tensor({1, 2, 0}, torch::kInt64);
  const torch::Tensor plain = network.forward(pictures) - 1000;
  const torch::Tensor mixed = plain * 0.75 + plain.index_select(0, order) * 0.25;
  const auto difference = [&](std::size_t stage) {
    const torch::Tensor features = network.forward(pictures, Mix{stage, order, 0.75}) - 1000;
    return ((features - mixed).abs().max() / plain.abs().max()).item<double>();
  };
  EXPECT_LT(difference(3), 1e-3);
  for (std::size_t stage = 0; stage < 3; ++stage) EXPECT_GT(difference(stage), 1e-2) << stage;
}

TEST(Network, WideOnesDropOnlyInTraining) {
  torch::manual_seed(9);
  const torch::NoGradGuard no_gradients;
  Network network({.name = "wrn-28-10"});
  const torch::Tensor pictures = torch::randn({2, 3, 16, 16});
  const torch::Tensor plain = network.forward(pictures);
  network.set_training(true, 0);
  const torch::Tensor kept = network.forward(pictures);
  EXPECT_TRUE(network.forward(pictures).equal(kept));
  network.set_dropout(0.5);
  EXPECT_FALSE(network.forward(pictures).allclose(kept, 0.01));
  network.set_training(false);
  EXPECT_TRUE(network.forward(pictures).equal(plain));
}

TEST(Network, StatisticsOfManyBatchesAreTheirMean) {
  torch::manual_seed(10);
  const torch::NoGradGuard no_gradients;
  Network network({.name = "conv4"});
  const auto value = [&](const std::string& name) {
    for (const NamedTensor& entry : network.tensors())
      if (entry.name == name) return *entry.tensor;
    throw std::logic_error(name);
  };
  torch::Tensor mean = torch::zeros({64});
  torch::Tensor variance = torch::zeros({64});
  constexpr int batches = 3;
  for (int i = 0; i < batches; ++i) {
    const torch::Tensor pictures = torch::randn({4, 3, 32, 32}) * (i + 1) + i;
    network.set_training(true, 1.0 / (i + 1));
    (void)network.forward(pictures);
    const torch::Tensor inner =
        torch::conv2d(pictures, value("trunk.0.C.weight"), value("trunk.0.C.bias"), 1, 1);
    mean += inner.mean(torch::IntArrayRef{0, 2, 3}) / batches;
    variance += inner.var(torch::IntArrayRef{0, 2, 3}) / batches;
  }
  EXPECT_TRUE(value("trunk.0.BN.running_mean").allclose(mean, 1e-4, 1e-4));
  EXPECT_TRUE(value("trunk.0.BN.running_var").allclose(variance, 1e-4, 1e-4));
}

TEST(Network, SameSeedSameWeights) {
  const auto first_weights = [] {
    torch::manual_seed(6);
    const Network network({.name = "conv4"});
    return network.parameters().front().detach().clone();
  };
  EXPECT_TRUE(first_weights().equal(first_weights()));
}

TEST(Architecture, RefusesWhatIsNoNetwork) {
  expect_error(ErrorKind::usage, {"'vgg'", "conv4"}, [] { check({.name = "vgg"}); });
  expect_error(ErrorKind::usage, {"resnet18", "widths"}, [] {
    check({.name = "resnet18", .widths = {1, 2, 3, 4}});
  });
  expect_error(ErrorKind::usage, {"3 widths"}, [] {
    check({.name = "conv4", .widths = {1, 2, 3}});
  });
  expect_error(ErrorKind::usage, {"1024", "5000"}, [] {
    check({.name = "conv4", .widths = {64, 64, 64, 5000}});
  });
  expect_error(ErrorKind::usage, {"conv4", "ImageNet"},
               [] { check({.name = "conv4", .imagenet_stem = true}); });
  expect_error(ErrorKind::usage, {"stride", "3"},
               [] { check({.name = "conv4", .first_stride = 3}); });
  expect_error(ErrorKind::usage, {"stride", "ImageNet"},
               [] { check({.name = "resnet18", .imagenet_stem = true, .first_stride = 2}); });
}

}  // namespace
}  // namespace deepvoro
