#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "backbone/torch/library.hpp"
#include "cpp/expect_error.hpp"
#include "cpp/test_store.hpp"
#include "ensemble/ensemble.hpp"
#include "ensemble/ensemble_device.hpp"
#include "ensemble/influence_field.hpp"
#include "ensemble/space_cache.hpp"

namespace deepvoro {
namespace {

using test::random_split;
using test::StoreData;
using test::TemporaryFolder;

constexpr const char* kFirst = "s84_r0_f0";
constexpr const char* kSecond = "s84_r0_f1";

StoreData random_store(std::size_t dim) {
  return {{"base", random_split({.classes = 11, .samples_per_class = 9, .dim = dim, .seed = 1})},
          {"novel", random_split({.classes = 8, .dim = dim, .seed = 2})}};
}

class Bench {
 public:
  explicit Bench(const StoreData& data,
                 const EpisodeShape& shape = {.ways = 4, .shots = 2, .queries = 3},
                 std::size_t episodes = 40)
      : store_(written(data)),
        episodes_(draw_episodes(store_, "novel", {.shape = shape, .count = episodes})) {}

  [[nodiscard]] EpisodeSetting setting(double alpha = 1) const {
    return {store_, "novel", episodes_, Influence(alpha), 2};
  }
  [[nodiscard]] std::size_t episode_count() const { return episodes_.size(); }

  // The influence of all episodes, in a row.
  [[nodiscard]] static std::vector<double> scores(const EpisodeSetting& setting, const Pool& pool) {
    std::vector<double> all;
    (void)evaluate_ensemble(setting, Selection::full(pool), [&](std::span<const double> values) {
      all.insert(all.end(), values.begin(), values.end());
    });
    return all;
  }

 private:
  FeatureStore written(const StoreData& data) const {
    test::write_store(folder_.path(), data);
    return FeatureStore(folder_.path());
  }

  TemporaryFolder folder_;
  FeatureStore store_;
  EpisodeList episodes_;
};

Pool transformations(const Geometry& geometry) {
  Pool pool;
  for (const Transform& transform : {Transform{.lambda = 0.5},
                                     {.lambda = 0.75},
                                     {.lambda = 1},
                                     {.w = 2, .b = 0.5, .lambda = 2},
                                     {.b = 0.02, .lambda = 0},
                                     {.w = 3, .b = 1, .lambda = 0},
                                     {.b = 0.1, .lambda = -1},
                                     {.lambda = 0.5, .is_signed = true},
                                     {.b = -0.1, .lambda = 0, .is_signed = true}})
    pool.push_back({kFirst, transform, geometry});
  return pool;
}

Pool surrogates() {
  return {{kFirst, {.lambda = 0.75}, Voronoi{}},
          {kFirst, {.lambda = 0.75}, Surrogate{.R = 1, .beta = 7}},
          {kFirst, {.lambda = 0.75}, Surrogate{.R = 3, .beta = 4.5, .gamma = 0.5}},
          {kFirst, {.lambda = 0.75}, Surrogate{.R = 3, .beta = 0}, 2.5},
          {kSecond, {.b = 0.08, .lambda = 0}, Surrogate{.R = 2, .beta = 5.5}},
          {kSecond, {.b = 0.08, .lambda = 0}, Surrogate{.R = 100, .beta = 3}},
          {kFirst, {.lambda = 0.5}, Surrogate{.R = 10, .beta = 0.5}}};
}

Pool whitened() {
  return {{kFirst, {.lambda = 0.5}, Plda{}},
          {"mean", {.b = 0.1, .lambda = 0}, Plda{.shrink_within = 0.6, .kappa = 2}, 0.5},
          {kSecond, {.lambda = 1}, Plda{.shrink_within = 0.3, .shrink_between = 0.3}},
          {kSecond, {.lambda = 0.5}, Voronoi{}}};
}

class EnsembleOnDevice : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "cuda" && !at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
    device_ = deepvoro_backbone_library()->ensemble_device(GetParam());
  }

  [[nodiscard]] std::vector<double> device_scores(EpisodeSetting setting, const Pool& pool) const {
    setting.device = device_.get();
    return Bench::scores(setting, pool);
  }

  void expect_scores_of_the_cpu(const EpisodeSetting& setting, const Pool& pool) const {
    const std::vector<double> expected = Bench::scores(setting, pool);
    const std::vector<double> actual = device_scores(setting, pool);
    ASSERT_EQ(actual.size(), expected.size());
    const std::size_t ways = setting.episodes.shape().ways;
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(actual[i], expected[i], 1e-5 * std::abs(expected[i])) << i;
    for (std::size_t query = 0; query < expected.size(); query += ways) {
      std::vector<double> sorted(expected.begin() + static_cast<std::ptrdiff_t>(query),
                                 expected.begin() + static_cast<std::ptrdiff_t>(query + ways));
      const std::size_t cell = cell_of(sorted);
      std::ranges::sort(sorted);
      if (sorted[ways - 1] - sorted[ways - 2] <= 1e-5 * std::abs(sorted[ways - 1])) continue;
      EXPECT_EQ(cell_of({actual.data() + query, ways}), cell) << query;
    }
  }

  std::unique_ptr<EnsembleDevice> device_;
};

TEST_P(EnsembleOnDevice, HasTheScoresOfTheCpuWithEveryTransformation) {
  for (const std::size_t dim : {5U, 70U}) {
    const Bench bench(random_store(dim));
    for (const double alpha : {1.0, 2.0, -1.0})
      expect_scores_of_the_cpu(bench.setting(alpha), transformations(Voronoi{}));
  }
}

TEST_P(EnsembleOnDevice, HasTheScoresOfTheCpuWithSurrogates) {
  for (const std::size_t dim : {5U, 70U}) {
    const Bench bench(random_store(dim));
    for (const double alpha : {1.0, 0.5})
      expect_scores_of_the_cpu(bench.setting(alpha), surrogates());
    expect_scores_of_the_cpu(bench.setting(), transformations(Surrogate{.R = 4, .beta = 2}));
  }
}

TEST_P(EnsembleOnDevice, HasTheScoresOfTheCpuWithSpaces) {
  for (const std::size_t dim : {5U, 70U}) {
    const Bench bench(random_store(dim));
    for (const double alpha : {1.0, -2.0})
      expect_scores_of_the_cpu(bench.setting(alpha), whitened());
  }
}

TEST_P(EnsembleOnDevice, HasTheScoresOfTheCpuAtAnyShape) {
  for (const EpisodeShape& shape : {EpisodeShape{.ways = 2, .shots = 1, .queries = 1},
                                    EpisodeShape{.ways = 8, .shots = 5, .queries = 7}}) {
    const Bench bench(random_store(130), shape);
    for (const Pool& pool : {transformations(Voronoi{}), surrogates(), whitened()})
      expect_scores_of_the_cpu(bench.setting(), pool);
  }
}

TEST_P(EnsembleOnDevice, NeedsNoMoreThanOneEpisodeAtATime) {
  const Bench bench(random_store(70));
  EpisodeSetting in_batches = bench.setting();
  in_batches.largest_field_bytes = 1;
  const std::vector<double> together = device_scores(bench.setting(), surrogates());
  const std::vector<double> one_by_one = device_scores(in_batches, surrogates());
  ASSERT_EQ(together.size(), one_by_one.size());
  for (std::size_t i = 0; i < together.size(); ++i)
    EXPECT_NEAR(together[i], one_by_one[i], 1e-9 * std::abs(together[i]));
}

TEST_P(EnsembleOnDevice, KeepsSpacesForTheNextOne) {
  const Bench bench(random_store(70));
  SpaceCache spaces(bench.setting().store);
  EpisodeSetting setting = bench.setting();
  setting.spaces = &spaces;
  const std::vector<double> first = device_scores(setting, whitened());
  EXPECT_EQ(device_scores(setting, whitened()), first);
}

// A zero row has no direction, and equal rows no distance.
TEST_P(EnsembleOnDevice, MeasuresZeroAndEqualRowsAsTheCpuDoes) {
  StoreData data = random_store(70);
  for (auto& [view, rows] : data["novel"].views) {
    std::ranges::fill(rows[3], 0.0F);
    for (std::size_t i = 5; i < 30; ++i) rows[i] = rows[4];
  }
  const Bench bench(data);
  for (const double alpha : {1.0, 2.0})
    expect_scores_of_the_cpu(bench.setting(alpha), transformations(Voronoi{}));
}

TEST_P(EnsembleOnDevice, RefusesRowsInTheWordsOfTheCpu) {
  const auto refusal = [](const EpisodeSetting& setting, const Pool& pool) -> std::string {
    try {
      (void)Bench::scores(setting, pool);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto expect_same_refusal = [&](float value, const Pool& pool) {
    StoreData data = random_store(70);
    data["novel"].views.at(kFirst)[17][3] = value;
    const Bench bench(data);
    EpisodeSetting setting = bench.setting();
    const std::string expected = refusal(setting, pool);
    EXPECT_NE(expected.find(", column "), std::string::npos) << expected;
    setting.device = device_.get();
    EXPECT_EQ(refusal(setting, pool), expected);
  };
  const Pool roots{{kFirst, {.lambda = 0.5}, Voronoi{}}};
  expect_same_refusal(std::numeric_limits<float>::quiet_NaN(), roots);
  expect_same_refusal(std::numeric_limits<float>::infinity(), roots);
  expect_same_refusal(-1, roots);
  expect_same_refusal(-1, {{kFirst, {.b = 0.01, .lambda = 0}, Voronoi{}}});
  expect_same_refusal(0, {{kFirst, {.lambda = 0}, Voronoi{}}});
}

TEST_P(EnsembleOnDevice, RefusesMembersInTheWordsOfTheCpu) {
  const Bench bench(random_store(70));
  EpisodeSetting setting = bench.setting();
  setting.device = device_.get();
  test::expect_error(ErrorKind::data, {"s1_r0_f0"}, [&] {
    (void)Bench::scores(setting, {{"s1_r0_f0", {}, Voronoi{}}});
  });
}

INSTANTIATE_TEST_SUITE_P(Devices, EnsembleOnDevice, ::testing::Values("cpu", "cuda"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace
}  // namespace deepvoro
