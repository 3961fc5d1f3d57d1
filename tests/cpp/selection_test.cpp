#include "ensemble/selection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "ensemble/ensemble.hpp"
#include "expect_error.hpp"
#include "plain_reference.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::plain_terms;
using test::random_split;
using test::StoreData;
using test::TemporaryFolder;

Pool numbered_pool(std::size_t size) {
  Pool pool;
  for (std::size_t i = 0; i < size; ++i)
    pool.push_back({"view", {.w = static_cast<double>(i)}, Voronoi{}});
  return pool;
}

TEST(FullSelection, IsThePool) {
  EXPECT_EQ(Selection::full(numbered_pool(5)).members(), numbered_pool(5));
}

TEST(RandomSelection, IsTheBeginningOfNumpysPermutation) {
  const Pool pool = numbered_pool(10);
  EXPECT_EQ(Selection::random(pool, 4, 0).members(), (Pool{pool[2], pool[8], pool[4], pool[9]}));
  // numpy.random.RandomState(42).permutation(10)
  const std::vector<std::size_t> of_seed_42{8, 1, 5, 0, 7, 2, 9, 4, 3, 6};
  EXPECT_EQ(Selection::random(pool, 10, 42).members(), picked(pool, of_seed_42));
}

TEST(RandomSelection, OfOneSizeBeginsAsThatOfALargerSize) {
  const Pool pool = numbered_pool(30);
  const Pool small = Selection::random(pool, 7, 3).members();
  const Pool large = Selection::random(pool, 20, 3).members();
  EXPECT_TRUE(std::equal(small.begin(), small.end(), large.begin()));
}

TEST(RandomSelection, NeedsASizeBetweenOneAndThePool) {
  expect_error(ErrorKind::usage, {"`size` 0", "1 to 3"},
               [] { (void)Selection::random(numbered_pool(3), 0, 0); });
  expect_error(ErrorKind::usage, {"`size` 4", "1 to 3"},
               [] { (void)Selection::random(numbered_pool(3), 4, 0); });
}

class GuidedSelection : public ::testing::Test {
 protected:
  GuidedSelection() { test::write_store(folder_.path(), data_); }

  [[nodiscard]] ValidationRanking measure(const Pool& pool, double alpha = 1,
                                          unsigned threads = 2) const {
    return ValidationRanking::measure(FeatureStore(folder_.path()), pool, plan_, Influence(alpha),
                                      threads);
  }
  [[nodiscard]] EpisodeList episodes(const std::string& split) const {
    return draw_episodes(FeatureStore(folder_.path()), split, plan_);
  }

  // Percent of validation queries whose true class has the smallest sum of terms.
  [[nodiscard]] double plain_val_accuracy(const Pool& members) const {
    const EpisodeList list = episodes("val");
    const EpisodeShape& shape = plan_.shape;
    std::size_t correct = 0;
    for (std::size_t e = 0; e < list.size(); ++e) {
      std::vector<double> sums(shape.total_queries() * shape.ways);
      for (const Member& member : members) {
        const auto terms = plain_terms(data_, "val", member, list[e], shape, 1);
        std::ranges::transform(sums, terms, sums.begin(), std::plus{});
      }
      for (std::size_t q = 0; q < shape.total_queries(); ++q) {
        const auto of_query = std::span(sums).subspan(q * shape.ways, shape.ways);
        const auto winner = std::ranges::min_element(of_query) - of_query.begin();
        if (static_cast<std::size_t>(winner) == q / shape.queries) ++correct;
      }
    }
    return 100.0 * static_cast<double>(correct) /
           static_cast<double>(list.size() * shape.total_queries());
  }

  StoreData data_ = test::noisy_splits();
  TemporaryFolder folder_;
  EpisodePlan plan_{.shape = {.ways = 4, .shots = 1, .queries = 4}, .count = 25};
  Pool pool_{{"s84_r0_f0", {.lambda = 3}, Voronoi{}},
             {"s84_r0_f1", {.lambda = 0.5}, Voronoi{}},
             {"s84_r0_f0", {.lambda = 0.5}, Voronoi{}},
             {"s84_r0_f1", {.b = 0.02, .lambda = 0}, Surrogate{.R = 2, .beta = 4}},
             {"s84_r0_f0", {.lambda = 1}, Voronoi{}},
             {"s84_r0_f1", {.lambda = 1}, Surrogate{.R = 1, .beta = 0.5}}};
};

TEST_F(GuidedSelection, RanksMembersByTheirValidationAccuracy) {
  const ValidationRanking ranking = measure(pool_);
  ASSERT_EQ(ranking.ranked().size(), pool_.size());
  EXPECT_TRUE(std::ranges::is_permutation(ranking.ranked(), pool_));
  EXPECT_TRUE(std::ranges::is_sorted(ranking.member_accuracy(), std::greater{}));
  EXPECT_GT(ranking.member_accuracy().front(), ranking.member_accuracy().back());
  for (std::size_t i = 0; i < pool_.size(); ++i)
    EXPECT_DOUBLE_EQ(ranking.member_accuracy()[i], plain_val_accuracy({ranking.ranked()[i]}))
        << ranking.ranked()[i].id();
}

TEST_F(GuidedSelection, MeasuresTheEnsembleOfTheBestOfEverySize) {
  const ValidationRanking ranking = measure(pool_);
  ASSERT_EQ(ranking.ensemble_accuracy().size(), pool_.size());
  for (std::size_t size = 1; size <= pool_.size(); ++size) {
    const Pool best(ranking.ranked().begin(),
                    ranking.ranked().begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_DOUBLE_EQ(ranking.ensemble_accuracy()[size - 1], plain_val_accuracy(best)) << size;
  }
}

TEST_F(GuidedSelection, TakesAsManyAsDidBestTogether) {
  const ValidationRanking ranking = measure(pool_);
  const auto& accuracy = ranking.ensemble_accuracy();
  const std::size_t best = ranking.best_size();
  for (std::size_t size = 1; size < best; ++size)
    EXPECT_LT(accuracy[size - 1], accuracy[best - 1]) << "ties go to the smaller";
  for (std::size_t size = best; size <= accuracy.size(); ++size)
    EXPECT_LE(accuracy[size - 1], accuracy[best - 1]);
  const Pool expected(ranking.ranked().begin(),
                      ranking.ranked().begin() + static_cast<std::ptrdiff_t>(best));
  EXPECT_EQ(Selection::guided(ranking).members(), expected);
}

TEST_F(GuidedSelection, BreaksTiesToTheSmallerSizeAndKeepsTheOrderOfThePool) {
  // Scaled by a power of two, distances keep their order exactly: all members tie, at any size.
  const Pool equals{{"s84_r0_f0", {.w = 2}, Voronoi{}},
                    {"s84_r0_f0", {.w = 1}, Voronoi{}},
                    {"s84_r0_f0", {.w = 4}, Voronoi{}}};
  const ValidationRanking ranking = measure(equals);
  EXPECT_EQ(ranking.member_accuracy().front(), ranking.member_accuracy().back());
  EXPECT_EQ(ranking.ranked(), equals);
  EXPECT_EQ(ranking.best_size(), 1U);
}

TEST_F(GuidedSelection, TakesTheSizeItIsGiven) {
  const ValidationRanking ranking = measure(pool_);
  for (std::size_t size = 1; size <= pool_.size(); ++size)
    EXPECT_EQ(Selection::guided(ranking, size).members().size(), size);
  expect_error(ErrorKind::usage, {"`size` 0"}, [&] { (void)Selection::guided(ranking, 0); });
  expect_error(ErrorKind::usage, {"`size` 7", "1 to 6"},
               [&] { (void)Selection::guided(ranking, 7); });
}

TEST_F(GuidedSelection, DoesNotDependOnTheNumberOfThreads) {
  EXPECT_EQ(measure(pool_, 1, 1).ranked(), measure(pool_, 1, 5).ranked());
  EXPECT_EQ(measure(pool_, 1, 1).ensemble_accuracy(), measure(pool_, 1, 5).ensemble_accuracy());
}

TEST_F(GuidedSelection, NeverLooksAtTheNovelSplit) {
  const Pool before = Selection::guided(measure(pool_)).members();
  std::filesystem::remove_all(folder_ / "novel");
  EXPECT_EQ(Selection::guided(measure(pool_)).members(), before);
}

TEST_F(GuidedSelection, NeedsTheValidationSplit) {
  const TemporaryFolder folder;
  test::write_store(folder.path(), {{"novel", random_split({})}});
  expect_error(ErrorKind::data, {folder.path().string(), "'val'"}, [&] {
    (void)ValidationRanking::measure(FeatureStore(folder.path()), pool_, plan_, Influence(1), 1);
  });
}

TEST_F(GuidedSelection, OracleIsTheBestSizeOnTheSplitItself) {
  const ValidationRanking ranking = measure(pool_);
  const FeatureStore store(folder_.path());
  const EpisodeList list = episodes("novel");
  const EpisodeSetting setting{store, "novel", list, Influence(1), 1};
  const Oracle oracle = Oracle::peek(setting, ranking);
  const EpisodeSetting in_batches{
      store, "novel", list, Influence(1), 1, nullptr, 5 * 4 * 4 * 4 * sizeof(double)};
  ASSERT_EQ(field_batches(list, in_batches.largest_field_bytes).size(), 5U);
  EXPECT_EQ(Oracle::peek(in_batches, ranking).accuracy.mean, oracle.accuracy.mean);

  std::size_t best_size = 0;
  Estimate best{-1, 0};
  for (std::size_t size = 1; size <= pool_.size(); ++size) {
    const Estimate accuracy =
        estimate(evaluate_ensemble(setting, Selection::guided(ranking, size)));
    if (accuracy.mean > best.mean + 1e-9) {
      best = accuracy;
      best_size = size;
    }
  }
  EXPECT_EQ(oracle.size, best_size);
  EXPECT_DOUBLE_EQ(oracle.accuracy.mean, best.mean);
  EXPECT_DOUBLE_EQ(oracle.accuracy.ci95, best.ci95);
}

TEST_F(GuidedSelection, DrawsEpisodesFromTheLabelsOfTheStore) {
  const EpisodeList list = episodes("val");
  EXPECT_EQ(list.size(), plan_.count);
  EXPECT_EQ(list.shape(), plan_.shape);
  for (std::size_t e = 0; e < list.size(); ++e)
    for (std::size_t q = 0; q < list[e].query.size(); ++q)
      EXPECT_EQ(data_["val"].labels[list[e].query[q]],
                data_["val"].labels[list[e].support[q / plan_.shape.queries]]);
}

}  // namespace
}  // namespace deepvoro
