#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <random>
#include <span>

#include "../cpp/expect_error.hpp"
#include "backbone/model_file.hpp"
#include "backbone/torch/augmentation.hpp"
#include "backbone/torch/library.hpp"
#include "backbone/torch/network_file.hpp"
#include "backbone/torch/turns.hpp"
#include "core/files.hpp"
#include "deepvoro/backbone/training.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using test::expect_error;

constexpr std::size_t kClasses = 4;

// Pictures of a class share a colour; a bright corner tells how they were turned. The rest is
// noise.
TrainingSet coloured_corners(std::size_t pictures, std::size_t input_size) {
  std::mt19937 random(7);
  TrainingSet set;
  set.side = input_size * 115 / 100;
  set.classes = kClasses;
  set.sha256 = "made up";
  for (std::size_t i = 0; i < pictures; ++i) {
    const std::size_t label = i % kClasses;
    set.labels.push_back(static_cast<std::int64_t>(label));
    for (std::size_t y = 0; y < set.side; ++y)
      for (std::size_t x = 0; x < set.side; ++x)
        for (std::size_t c = 0; c < 3; ++c) {
          const bool corner = x < set.side / 2 && y < set.side / 2;
          const unsigned base = (corner ? 120U : 20U) + (c == label || label == 3 ? 80U : 0U);
          set.pixels.push_back(static_cast<std::uint8_t>(base + random() % 40));
        }
  }
  return set;
}

class Follower final : public TrainingMonitor {
 public:
  void step(double fraction, double pictures_per_second, double /*loss*/) override {
    EXPECT_GT(fraction, last_fraction);
    EXPECT_GT(pictures_per_second, 0);
    last_fraction = fraction;
  }
  void epoch(const std::vector<EpochReport>& all) override {
    reports = all;
    if (after_epoch) after_epoch();
    if (all.size() == end_after) throw std::runtime_error("killed");
  }
  std::optional<double> validate(Backbone& backbone) override {
    if (val_accuracies.empty()) return std::nullopt;
    std::vector<float> features(backbone.dim());
    backbone.embed({&probe, 1}, features);
    seen.push_back(features);
    return val_accuracies.at(seen.size() - 1);
  }

  double last_fraction = 0;
  std::size_t end_after = 0;
  std::function<void()> after_epoch;
  std::vector<EpochReport> reports;
  std::vector<double> val_accuracies;  // the first is asked for before training
  std::vector<std::vector<float>> seen;
  Bitmap probe{32, 32, std::vector<std::uint8_t>(32UL * 32 * 3, 90)};
};

class Training : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ranges::replace(test, '/', '_');
    // With the process, since several builds may be tested at once.
    folder_ = fs::path(::testing::TempDir()) / ("training_" + std::to_string(::getpid()) + test);
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    options_.architecture = {.name = "conv4", .widths = {8, 8, 8, 16}};
    options_.size = 32;
    options_.epochs = 4;
    options_.batch = 16;
    options_.compute.threads = 1;
    options_.keep_every_seconds = 0;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] fs::path file(const std::string& name) const { return folder_ / name; }
  void train(const std::string& name, Follower& follower) const {
    deepvoro_backbone_library()->train(set_, options_, file(name), follower);
  }
  [[nodiscard]] std::string trained(const std::string& name) const {
    Follower follower;
    train(name, follower);
    return read_text(file(name));
  }

  fs::path folder_;
  TrainingOptions options_;
  TrainingSet set_ = coloured_corners(40, 32);
};

struct Recipe {
  Procedure procedure;
  ClassifierKind classifier;
  OptimiserKind optimiser;
  double rate;
};

void PrintTo(const Recipe& recipe, std::ostream* out) {
  const bool linear = recipe.classifier == ClassifierKind::linear;
  *out << name(recipe.procedure) << (linear ? " linear" : " cosine");
}

class OneBatch : public Training, public ::testing::WithParamInterface<Recipe> {};

TEST_P(OneBatch, IsOverfit) {
  set_ = coloured_corners(16, 32);
  options_.procedure = GetParam().procedure;
  options_.classifier = GetParam().classifier;
  options_.optimiser = GetParam().optimiser;
  options_.rate = GetParam().rate;
  options_.epochs = 120;
  options_.smallest_crop = 0.8;
  options_.jitter = 0;
  options_.flip = false;
  Follower follower;
  train("model", follower);
  const bool mixes =
      options_.procedure == Procedure::mixup || options_.procedure == Procedure::s2m2;
  // The loss of the last epochs against the first one; shares of mixed pictures keep their entropy.
  double loss = 0;
  double accuracy = 0;
  constexpr std::size_t last_epochs = 10;
  for (std::size_t i = follower.reports.size() - last_epochs; i < follower.reports.size(); ++i) {
    loss += follower.reports[i].loss / last_epochs;
    accuracy += follower.reports[i].accuracy_percent / last_epochs;
  }
  EXPECT_LT(loss, (mixes ? 0.8 : 0.2) * follower.reports.front().loss);
  EXPECT_GT(accuracy, 90);
}

INSTANTIATE_TEST_SUITE_P(
    Procedures, OneBatch,
    ::testing::Values(Recipe{Procedure::softmax, ClassifierKind::linear, OptimiserKind::sgd, 0.05},
                      Recipe{Procedure::softmax, ClassifierKind::cosine, OptimiserKind::adam, 0.01},
                      Recipe{Procedure::rotation, ClassifierKind::linear, OptimiserKind::sgd, 0.05},
                      Recipe{Procedure::mixup, ClassifierKind::linear, OptimiserKind::sgd, 0.05},
                      Recipe{Procedure::s2m2, ClassifierKind::cosine, OptimiserKind::sgd, 0.05}));

TEST_F(Training, SameSeedSameBytes) {
  const std::string first = trained("first");
  EXPECT_EQ(first, trained("second"));
  options_.seed = 1;
  EXPECT_NE(first, trained("third"));
}

TEST_F(Training, GoesOnAfterAKillToTheSameBytes) {
  for (const OptimiserKind optimiser : {OptimiserKind::sgd, OptimiserKind::adam}) {
    options_.optimiser = optimiser;
    options_.procedure = Procedure::s2m2;
    const std::string whole = trained("whole");
    Follower killed;
    killed.end_after = 2;
    EXPECT_THROW(train("killed", killed), std::runtime_error);
    EXPECT_FALSE(fs::exists(file("killed")));
    Follower resumed;
    train("killed", resumed);
    EXPECT_EQ(read_text(file("killed")), whole);
    EXPECT_EQ(resumed.reports.size(), options_.epochs);
    EXPECT_EQ(resumed.reports[1].loss, killed.reports[1].loss);
    EXPECT_FALSE(fs::exists(file("killed.partial")));
    fs::remove(file("killed"));
  }
}

TEST_F(Training, GoesOnWithAnAverageToTheSameBytes) {
  options_.procedure = Procedure::s2m2;
  options_.all_turns = true;
  options_.average = 0.9;
  options_.validate_every = 1;
  const std::string whole = trained("whole");
  Follower killed;
  killed.end_after = 2;
  EXPECT_THROW(train("killed", killed), std::runtime_error);
  EXPECT_EQ(trained("killed"), whole);
}

TEST_F(Training, WritesTheAverageOfTheWeights) {
  set_ = coloured_corners(16, 32);  // one step an epoch
  options_.epochs = 30;
  options_.average = 0.7;
  torch::manual_seed(options_.seed);
  const Network start(options_.architecture);
  const std::string name = "trunk.1.C.weight";
  const std::vector<std::int64_t> shape{8, 8, 3, 3};
  torch::Tensor average;
  for (const NamedTensor& entry : start.tensors())
    if (entry.name == name) average = entry.tensor->detach().to(torch::kFloat64).flatten();
  const auto weights = [&](const fs::path& model, const std::string& tensor) {
    const std::vector<float> values = ModelFile(model).values(tensor, shape);
    return torch::tensor(values).to(torch::kFloat64);
  };
  torch::Tensor last;
  Follower follower;
  follower.after_epoch = [&] {
    const auto step = static_cast<double>(follower.reports.size() - 1);
    const double kept = std::min(0.7, (1 + step) / (10 + step));
    last = weights(file("model.partial"), name);
    average = kept * average + (1 - kept) * last;
  };
  train("model", follower);
  const torch::Tensor written = weights(file("model"), name);
  EXPECT_TRUE(written.allclose(average, 1e-4, 1e-6));
  EXPECT_FALSE(last.allclose(average, 1e-4, 1e-6));
}

// Pictures of one colour look the same however they are cut out; mixed ones would differ less.
TEST_F(Training, StatisticsOfTheAverageAreOfPlainPictures) {
  constexpr std::size_t count = 16;
  set_ = coloured_corners(count, 32);
  const std::size_t bytes = set_.pixels.size() / count;
  for (std::size_t i = 0; i < set_.pixels.size(); ++i)
    set_.pixels[i] = static_cast<std::uint8_t>(30 + 10 * (i / bytes) + 20 * (i % 3));
  options_.procedure = Procedure::mixup;
  options_.jitter = 0;
  options_.average = 0.5;
  (void)trained("model");
  const LoadedNetwork loaded = read_network(file("model"));
  const auto value = [&](const std::string& name) {
    for (const NamedTensor& entry : loaded.network->tensors())
      if (entry.name == name) return entry.tensor->detach();
    throw std::logic_error(name);
  };
  const auto side = static_cast<std::int64_t>(set_.side);
  const torch::Tensor pictures =
      augmented(torch::from_blob(set_.pixels.data(), {16, side, side, 3}, torch::kUInt8), options_);
  const torch::Tensor inner =
      torch::conv2d(pictures, value("trunk.0.C.weight"), value("trunk.0.C.bias"), 1, 1);
  const torch::Tensor mean = inner.mean(torch::IntArrayRef{0, 2, 3});
  const torch::Tensor variance = inner.var(torch::IntArrayRef{0, 2, 3});
  EXPECT_TRUE(value("trunk.0.BN.running_mean").allclose(mean, 1e-3, 1e-4));
  EXPECT_TRUE(value("trunk.0.BN.running_var").allclose(variance, 1e-3, 1e-4));
}

TEST_F(Training, RefusesToGoOnWithOtherOptions) {
  Follower killed;
  killed.end_after = 1;
  EXPECT_THROW(train("model", killed), std::runtime_error);
  options_.rate *= 2;
  expect_error(ErrorKind::data, {file("model.partial").string(), "other options"},
               [&] { (void)trained("model"); });
}

TEST_F(Training, KeepsTheBestByValidation) {
  options_.validate_every = 1;
  Follower follower;
  follower.val_accuracies = {20, 30, 90, 50, 60};
  train("model", follower);
  const auto backbone = open_network(file("model"));
  std::vector<float> features(backbone->dim());
  backbone->embed({&follower.probe, 1}, features);
  ASSERT_EQ(follower.seen.size(), 5U);
  for (std::size_t i = 0; i < features.size(); ++i)
    EXPECT_NEAR(features[i], follower.seen[2][i], 1e-5);
  EXPECT_NE(follower.seen[2], follower.seen[4]);
  EXPECT_EQ(follower.reports[1].val_accuracy_percent, 90);
}

TEST_F(Training, RemembersTheBestAfterAKill) {
  options_.validate_every = 1;
  Follower killed;
  killed.val_accuracies = {20, 30, 90};
  killed.end_after = 2;
  EXPECT_THROW(train("model", killed), std::runtime_error);
  const std::string best = read_text(file("model"));
  Follower resumed;
  resumed.val_accuracies = {50, 60};
  train("model", resumed);
  EXPECT_EQ(resumed.seen.size(), 2U);
  EXPECT_EQ(read_text(file("model")), best);
}

TEST_F(Training, BatchesOfANetworkMayBePendingTogether) {
  Follower follower;
  train("model", follower);
  const auto backbone = open_network(file("model"));
  const std::vector<Bitmap> pair{follower.probe,
                                 {32, 32, std::vector<std::uint8_t>(32UL * 32 * 3)}};
  const Bitmap& other = pair[1];
  std::vector<float> pair_alone(2 * backbone->dim());
  std::vector<float> other_alone(backbone->dim());
  backbone->embed(pair, pair_alone);
  backbone->embed({&other, 1}, other_alone);
  EXPECT_FALSE(std::ranges::equal(std::span(pair_alone).first(backbone->dim()), other_alone));

  const auto first = backbone->begin(pair);
  const auto second = backbone->begin({&other, 1});
  std::vector<float> features(backbone->dim());
  second->copy_to(features);
  EXPECT_EQ(features, other_alone);
  features.resize(2 * backbone->dim());
  first->copy_to(features);
  EXPECT_EQ(features, pair_alone);
}

TEST_F(Training, RateFollowsACosine) {
  options_.epochs = 10;
  Follower follower;
  train("model", follower);
  for (std::size_t i = 1; i < follower.reports.size(); ++i)
    EXPECT_LT(follower.reports[i].rate, follower.reports[i - 1].rate);
  EXPECT_LT(follower.reports.back().rate, 0.01 * options_.rate);
}

TEST_F(Training, RefusesWhatCannotBeTrained) {
  const auto refused = [&](std::string_view word, auto change) {
    TrainingOptions options = options_;
    change(options);
    expect_error(ErrorKind::usage, {word}, [&] { check(options); });
  };
  refused("`epochs`", [](TrainingOptions& options) { options.epochs = 0; });
  refused("`batch`", [](TrainingOptions& options) { options.batch = 1; });
  refused("`rate`", [](TrainingOptions& options) { options.rate = 0; });
  refused("`size`", [](TrainingOptions& options) { options.size = 8; });
  refused("`jitter`", [](TrainingOptions& options) { options.jitter = 1; });
  refused("`smallest_crop`", [](TrainingOptions& options) { options.smallest_crop = 0; });
  refused("`all_turns`: softmax", [](TrainingOptions& options) { options.all_turns = true; });
  refused("`dropout`", [](TrainingOptions& options) { options.dropout = 1; });
  refused("only wrn-28-10", [](TrainingOptions& options) { options.dropout = 0.5; });
  refused("`average`", [](TrainingOptions& options) { options.average = 1; });
}

TEST(Recipe, NamesWhatIsUsed) {
  TrainingOptions options;
  for (const char* word : {"all_turns", "dropout", "average"})
    EXPECT_EQ(recipe_json(options).find(word), std::string::npos) << word;
  options.all_turns = true;
  options.dropout = 0.5;
  options.average = 0.75;
  for (const char* text : {R"("all_turns":true)", R"("dropout":0.5)", R"("average":0.75)"})
    EXPECT_NE(recipe_json(options).find(text), std::string::npos) << text;
}

// A picture whose pixels are numbered, so that every turn shows.
torch::Tensor numbered(std::int64_t count) {
  return torch::arange(count * 3 * 2 * 2, torch::kFloat32).view({count, 3, 2, 2});
}

// The pixel at the top right comes to the top left when a picture is turned by a quarter.
void expect_turned(const Turned& turned, std::int64_t row, const torch::Tensor& picture) {
  const std::array<std::array<std::int64_t, 2>, 4> top_left{{{0, 0}, {0, 1}, {1, 1}, {1, 0}}};
  const auto& [y, x] =
      top_left.at(static_cast<std::size_t>(turned.turns[row].item<std::int64_t>()));
  EXPECT_TRUE(
      turned.pictures[row].select(1, 0).select(1, 0).equal(picture.select(1, y).select(1, x)))
      << row;
}

TEST(Turns, AtRandomKeepAllPictures) {
  torch::manual_seed(1);
  const torch::Tensor pictures = numbered(40);
  const torch::Tensor labels = torch::arange(40, torch::kInt64);
  const Turned turned = turned_at_random(pictures, labels);
  EXPECT_TRUE(turned.labels.equal(labels));
  for (std::int64_t row = 0; row < 40; ++row) expect_turned(turned, row, pictures[row]);
  for (std::int64_t turn = 0; turn < kTurns; ++turn)
    EXPECT_GT((turned.turns == turn).sum().item<std::int64_t>(), 2);
}

TEST(Turns, InAllWaysShowAQuarterFourTimes) {
  for (const std::int64_t count : {8, 10}) {
    const torch::Tensor pictures = numbered(count);
    const torch::Tensor labels = torch::arange(count, torch::kInt64) + 100;
    const Turned turned = turned_in_all_ways(pictures, labels);
    const std::int64_t quarter = (count + 3) / 4;
    ASSERT_EQ(turned.pictures.sizes(), pictures.sizes());
    ASSERT_EQ(turned.labels.size(0), count);
    ASSERT_EQ(turned.turns.size(0), count);
    for (std::int64_t row = 0; row < count; ++row) {
      EXPECT_EQ(turned.turns[row].item<std::int64_t>(), row / quarter);
      EXPECT_EQ(turned.labels[row].item<std::int64_t>(), 100 + row % quarter);
      expect_turned(turned, row, pictures[row % quarter]);
    }
  }
}

TEST(KeptSide, LeavesNoCropToBeEnlarged) {
  TrainingOptions options;
  options.size = 84;
  options.smallest_crop = 0.49;
  EXPECT_EQ(kept_side(options), 120);
  options.smallest_crop = 1;
  EXPECT_EQ(kept_side(options), 84);
  options.smallest_crop = 0.01;
  EXPECT_EQ(kept_side(options), 168);
}

TEST(Augmentation, WholePicturesAreScaledAlone) {
  TrainingOptions options;
  options.size = 20;
  options.smallest_crop = 1;
  options.jitter = 0;
  options.flip = false;
  options.pixels = {{0.5F, 0.25F, 0.125F}, {0.5F, 1.0F, 2.0F}};
  const torch::Tensor bytes = torch::full({3, 23, 23, 3}, 51, torch::kUInt8);
  const torch::Tensor out = augmented(bytes, options);
  ASSERT_EQ(out.sizes(), (torch::IntArrayRef{3, 3, 20, 20}));
  const std::array<double, 3> expected{(0.2 - 0.5) / 0.5, 0.2 - 0.25, (0.2 - 0.125) / 2};
  for (std::int64_t c = 0; c < 3; ++c)
    EXPECT_LT((out.select(1, c) - expected[static_cast<std::size_t>(c)]).abs().max().item<double>(),
              1e-5);
}

TEST(Augmentation, CropsLieInsideAndFlipsMirror) {
  torch::manual_seed(1);
  TrainingOptions options;
  options.size = 16;
  options.smallest_crop = 0.3;
  options.jitter = 0;
  options.pixels = {{0, 0, 0}, {1, 1, 1}};
  // Brightness grows to the right.
  const torch::Tensor ramp = torch::linspace(0, 250, 18).to(torch::kUInt8);
  const torch::Tensor bytes = ramp.view({1, 1, 18, 1}).expand({64, 18, 18, 3}).contiguous();
  const torch::Tensor out = augmented(bytes, options);
  EXPECT_GE(out.min().item<double>(), 0);
  EXPECT_LE(out.max().item<double>(), 250.0 / 255 + 1e-6);
  const torch::Tensor slope = (out.select(3, 15) - out.select(3, 0)).select(1, 0).select(1, 0);
  const auto mirrored = (slope < 0).sum().item<std::int64_t>();
  EXPECT_GT(mirrored, 16);
  EXPECT_LT(mirrored, 48);
  EXPECT_GT(slope.abs().max().item<double>(), 1.3 * slope.abs().min().item<double>());
}

}  // namespace
}  // namespace deepvoro
