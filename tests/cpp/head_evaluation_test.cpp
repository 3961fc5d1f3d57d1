#include "ensemble/head_evaluation.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "deepvoro/study/evaluate.hpp"
#include "expect_error.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::random_split;
using test::TemporaryFolder;

constexpr Method kHeads[] = {Method::power_lr,   Method::voronoi_lr, Method::deepvoro_minus_minus,
                             Method::simpleshot, Method::pt_ncm,     Method::s2m2,
                             Method::dc};

class HeadEvaluation : public ::testing::Test {
 protected:
  HeadEvaluation() {
    test::write_store(folder_ / "store",
                      {{"base", random_split({.classes = 5, .dim = 18, .seed = 1})},
                       {"novel", random_split({.classes = 6, .dim = 18, .seed = 2})}});
  }
  [[nodiscard]] static Evaluation request(Method method, unsigned threads = 1) {
    return {.method = method,
            .plan = {.shape = {.ways = 3, .shots = 2, .queries = 4}, .count = 9},
            .threads = threads};
  }
  [[nodiscard]] EvaluationResult run(const Evaluation& asked, const ScoreSink& scores = {}) const {
    return evaluate(FeatureStore(folder_ / "store"), asked, scores);
  }
  [[nodiscard]] std::vector<double> scores_of(const Evaluation& asked) const {
    std::vector<double> all;
    (void)run(asked, [&](std::span<const double> scores) {
      all.insert(all.end(), scores.begin(), scores.end());
    });
    return all;
  }

  TemporaryFolder folder_;
};

TEST_F(HeadEvaluation, ScoresDoNotDependOnTheNumberOfThreads) {
  for (const Method method : kHeads) {
    const auto one = run(request(method, 1));
    const auto three = run(request(method, 3));
    EXPECT_EQ(scores_of(request(method, 1)), scores_of(request(method, 3))) << name(method);
    EXPECT_EQ(one.episode_accuracy, three.episode_accuracy) << name(method);
    EXPECT_EQ(one.member_count(), 1);
    EXPECT_GT(one.accuracy.mean, 100.0 / 3) << name(method) << " is no better than guessing";
  }
}

// What was scored is kept by whoever is killed before the end.
TEST_F(HeadEvaluation, ScoresComeBeforeTheLastEpisodeIsDone) {
  const FeatureStore store(folder_ / "store");
  EpisodePlan plan = request(Method::pt_ncm).plan;
  plan.count = 700;
  const EpisodeList episodes = draw_episodes(store, "novel", plan);
  std::size_t scored = 0;
  std::size_t scored_in_time = 0;
  (void)evaluate_head(
      {store, "novel", episodes, Influence(1), 1}, {.method = Method::pt_ncm, .view = "s84_r0_f0"},
      [&](std::span<const double>) { ++scored; },
      [&](double done) {
        if (done < 1) scored_in_time = scored;
      });
  EXPECT_EQ(scored, 700U);
  EXPECT_GE(scored_in_time, 350U);
}

TEST_F(HeadEvaluation, GivesTheSameInBatches) {
  const FeatureStore store(folder_ / "store");
  const EpisodePlan plan = request(Method::s2m2).plan;
  const EpisodeList episodes = draw_episodes(store, "novel", plan);
  EpisodeSetting setting{store, "novel", episodes, Influence(1), 2};
  for (const Method method : {Method::pt_ncm, Method::s2m2}) {
    const auto scores_and_accuracy = [&] {
      std::vector<double> scores;
      std::vector<double> accuracy = evaluate_head(
          setting, {.method = method, .view = "s84_r0_f0"}, [&](std::span<const double> values) {
            scores.insert(scores.end(), values.begin(), values.end());
          });
      return std::pair(scores, accuracy);
    };
    setting.largest_field_bytes = std::size_t{1} << 20U;
    const auto at_once = scores_and_accuracy();
    setting.largest_field_bytes = 2 * 3 * 12 * sizeof(double);
    ASSERT_EQ(field_batches(episodes, setting.largest_field_bytes).size(), 5U);
    EXPECT_EQ(scores_and_accuracy(), at_once) << name(method);
  }
}

TEST_F(HeadEvaluation, UsesTheFirstViewUnlessAnotherIsNamed) {
  Evaluation asked = request(Method::pt_ncm);
  const auto by_default = run(asked);
  EXPECT_EQ(by_default.head->view, "s84_r0_f0");
  asked.view = "s84_r0_f0";
  EXPECT_EQ(run(asked).episode_accuracy, by_default.episode_accuracy);
  asked.view = "s84_r0_f1";
  EXPECT_NE(run(asked).episode_accuracy, by_default.episode_accuracy);
  asked.view = "s84_r90_f0";
  expect_error(ErrorKind::data, {"s84_r90_f0", "s84_r0_f0, s84_r0_f1"}, [&] { (void)run(asked); });
}

TEST_F(HeadEvaluation, AResultIsRefusedAsAPool) {
  const FeatureStore store(folder_ / "store");
  ResultFile file(folder_ / "result.json", store, 1);
  const std::vector results = {run(request(Method::s2m2))};
  file.write(results);
  expect_error(ErrorKind::data, {"result.json", "member 0", "s2m2", "`method`"},
               [&] { (void)read_pool(folder_ / "result.json"); });
}

TEST_F(HeadEvaluation, WhatOnlyEnsemblesHaveIsWrongUsage) {
  for (const Method method : kHeads) {
    Evaluation with_pool = request(method);
    with_pool.pool = "pool.json";
    expect_error(ErrorKind::usage, {"`pool`", name(method)}, [&] { check(with_pool); });
    Evaluation with_scheme = request(method);
    with_scheme.scheme = Scheme::guided;
    expect_error(ErrorKind::usage, {"`scheme` guided", name(method)}, [&] { check(with_scheme); });
  }
  Evaluation with_view = request(Method::deepvoro);
  with_view.view = "s84_r0_f0";
  expect_error(ErrorKind::usage, {"`view`", "deepvoro"}, [&] { check(with_view); });
}

TEST_F(HeadEvaluation, AMissingSplitBaseIsNamed) {
  test::write_store(folder_ / "bare", {{"novel", random_split({.dim = 18})}});
  const FeatureStore bare(folder_ / "bare");
  for (const Method method : {Method::dc, Method::simpleshot})
    expect_error(ErrorKind::data, {"'base'", name(method)},
                 [&] { (void)evaluate(bare, request(method)); });
  Evaluation without_mean = request(Method::simpleshot);
  without_mean.normalisation = Normalisation::l2n;
  EXPECT_GT(evaluate(bare, without_mean).accuracy.mean, 0);
  Evaluation on_base = request(Method::dc);
  on_base.split = "base";
  expect_error(ErrorKind::usage, {"`split` base", "dc"}, [&] { (void)run(on_base); });
}

TEST(HeadNames, AreReadBackAndUnknownOnesRefused) {
  for (const auto n : {Normalisation::un, Normalisation::l2n, Normalisation::cl2n})
    EXPECT_EQ(normalisation_named(name(n)), n);
  for (const auto kind : {LogisticKind::power, LogisticKind::voronoi})
    EXPECT_EQ(logistic_kind_named(name(kind)), kind);
  expect_error(ErrorKind::usage, {"`normalisation` l3n", "cl2n"},
               [] { (void)normalisation_named("l3n"); });
  expect_error(ErrorKind::usage, {"`lr` linear", "voronoi"},
               [] { (void)logistic_kind_named("linear"); });
}

}  // namespace
}  // namespace deepvoro
