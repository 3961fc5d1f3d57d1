#include "ensemble/greedy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "ensemble/ensemble.hpp"
#include "ensemble/selection.hpp"
#include "expect_error.hpp"
#include "plain_reference.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::plain_correct_queries;
using test::plain_terms;
using test::random_split;
using test::StoreData;
using test::TemporaryFolder;

struct PlainChoice {
  std::vector<std::size_t> chosen;  // step by step
  std::vector<double> mean_distance;
  double val_accuracy = 0;
};

class GreedySelection : public ::testing::Test {
 protected:
  GreedySelection() { test::write_store(folder_.path(), data_); }

  [[nodiscard]] GreedyEnsemble measure(const Pool& pool, double alpha = 1, unsigned threads = 2,
                                       std::size_t kept = GreedyEnsemble::kMostKeptBytes) const {
    return GreedyEnsemble::measure(FeatureStore(folder_.path()), pool, plan_, Influence(alpha),
                                   threads, {}, nullptr, kept);
  }

  // Every ensemble of every step is added up anew.
  [[nodiscard]] PlainChoice plain_choice(const Pool& pool, double alpha) const {
    const EpisodeList list = draw_episodes(FeatureStore(folder_.path()), "val", plan_);
    const EpisodeShape& shape = plan_.shape;
    const std::size_t values = shape.total_queries() * shape.ways;
    PlainChoice plain;
    std::vector<std::vector<double>> terms;  // [members], all episodes
    for (const Member& member : pool) {
      std::vector<double> distances;
      for (std::size_t e = 0; e < list.size(); ++e) {
        const auto of_episode = plain_terms(data_, "val", member, list[e], shape, 1);
        distances.insert(distances.end(), of_episode.begin(), of_episode.end());
      }
      plain.mean_distance.push_back(std::accumulate(distances.begin(), distances.end(), 0.0) /
                                    static_cast<double>(distances.size()));
      for (double& value : distances)
        value = (alpha > 0 ? 1 : -1) * std::pow(value / plain.mean_distance.back(), alpha);
      terms.push_back(distances);
    }
    const auto correct = [&](const std::vector<std::size_t>& members) {
      std::size_t count = 0;
      for (std::size_t e = 0; e < list.size(); ++e) {
        std::vector<double> sums(values);
        for (const std::size_t m : members)
          for (std::size_t i = 0; i < values; ++i) sums[i] += terms[m][e * values + i];
        count += plain_correct_queries(sums, shape);
      }
      return count;
    };
    std::size_t best = 0;
    std::vector<std::size_t> grown;
    for (std::size_t step = 0; step < 30; ++step) {
      std::vector<std::size_t> counts;
      for (std::size_t m = 0; m < pool.size(); ++m) {
        std::vector<std::size_t> with = grown;
        with.push_back(m);
        counts.push_back(correct(with));
      }
      grown.push_back(static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin()));
      if (counts[grown.back()] > best) {
        best = counts[grown.back()];
        plain.chosen = grown;
      }
    }
    plain.val_accuracy = 100.0 * static_cast<double>(best) /
                         static_cast<double>(list.size() * shape.total_queries());
    return plain;
  }

  void expect_plain_choice(const Pool& pool, double alpha) const {
    const PlainChoice plain = plain_choice(pool, alpha);
    const GreedyEnsemble ensemble = measure(pool, alpha);
    EXPECT_DOUBLE_EQ(ensemble.val_accuracy(), plain.val_accuracy);
    std::map<std::size_t, std::size_t> counts;
    for (const std::size_t m : plain.chosen) ++counts[m];
    ASSERT_EQ(ensemble.members().size(), counts.size());
    for (const auto& [m, count] : counts) {
      const auto found = std::ranges::find_if(ensemble.members(), [&, m = m](Member member) {
        member.weight = pool[m].weight;
        return member == pool[m];
      });
      ASSERT_NE(found, ensemble.members().end()) << pool[m].id();
      const auto place = static_cast<std::size_t>(found - ensemble.members().begin());
      EXPECT_EQ(ensemble.counts()[place], count);
      const double expected = std::pow(count, 1 / alpha) / plain.mean_distance[m];
      EXPECT_NEAR(found->weight, expected, 1e-6 * expected);
    }
  }

  StoreData data_ = test::noisy_splits();
  TemporaryFolder folder_;
  EpisodePlan plan_{.shape = {.ways = 4, .shots = 1, .queries = 4}, .count = 25};
  Pool pool_{{"s84_r0_f0", {.lambda = 3}, Voronoi{}},
             {"s84_r0_f1", {.lambda = 0.5}, Voronoi{}, 7},
             {"s84_r0_f0", {.lambda = 0.5}, Voronoi{}},
             {"s84_r0_f1", {.b = 0.02, .lambda = 0}, Surrogate{.R = 2, .beta = 4}},
             {"s84_r0_f0", {.lambda = 1}, Voronoi{}},
             {"s84_r0_f1", {.lambda = 1}, Surrogate{.R = 1, .beta = 0.5}}};
};

TEST_F(GreedySelection, IsThatOfAPlainSearch) {
  for (const double alpha : {1.0, 2.0, -1.0}) {
    SCOPED_TRACE(alpha);
    expect_plain_choice(pool_, alpha);
  }
}

TEST_F(GreedySelection, TakesSomeMembersSeveralTimes) {
  const GreedyEnsemble ensemble = measure(pool_);
  EXPECT_GT(std::ranges::max(ensemble.counts()), 1U);
  EXPECT_LE(std::accumulate(ensemble.counts().begin(), ensemble.counts().end(), std::size_t{0}),
            GreedyEnsemble::kMostSteps);
}

TEST_F(GreedySelection, ReachesOnValWhatItSays) {
  const FeatureStore store(folder_.path());
  const EpisodeList list = draw_episodes(store, "val", plan_);
  for (const double alpha : {1.0, -1.0}) {
    const GreedyEnsemble ensemble = measure(pool_, alpha);
    const EpisodeSetting setting{store, "val", list, Influence(alpha), 1};
    EXPECT_NEAR(estimate(evaluate_ensemble(setting, Selection::greedy(ensemble))).mean,
                ensemble.val_accuracy(), 1e-9);
  }
}

TEST_F(GreedySelection, DependsNeitherOnThreadsNorOnMemory) {
  const GreedyEnsemble ensemble = measure(pool_);
  const std::size_t of_two_members = 2 * 25 * 4 * 4 * 4 * sizeof(float);
  for (const unsigned threads : {1U, 5U})
    for (const std::size_t kept : {std::size_t{0}, of_two_members}) {
      const GreedyEnsemble other = measure(pool_, 1, threads, kept);
      EXPECT_EQ(other.members(), ensemble.members());
      EXPECT_EQ(other.counts(), ensemble.counts());
      EXPECT_EQ(other.val_accuracy(), ensemble.val_accuracy());
    }
}

TEST_F(GreedySelection, TakesTheFirstOfEqualMembersOnce) {
  const Pool equals{{"s84_r0_f0", {.w = 2}, Voronoi{}}, {"s84_r0_f0", {.w = 1}, Voronoi{}}};
  const GreedyEnsemble ensemble = measure(equals);
  ASSERT_EQ(ensemble.members().size(), 1U);
  EXPECT_EQ(ensemble.members().front().transform.w, 2);
  EXPECT_EQ(ensemble.counts(), std::vector<std::size_t>{1});
}

TEST_F(GreedySelection, NeverLooksAtTheNovelSplit) {
  const Pool before = measure(pool_).members();
  std::filesystem::remove_all(folder_ / "novel");
  EXPECT_EQ(measure(pool_).members(), before);
}

TEST_F(GreedySelection, NeedsTheValidationSplit) {
  const TemporaryFolder folder;
  test::write_store(folder.path(), {{"novel", random_split({})}});
  expect_error(ErrorKind::data, {folder.path().string(), "'val'", "greedy"}, [&] {
    (void)GreedyEnsemble::measure(FeatureStore(folder.path()), pool_, plan_, Influence(1), 1);
  });
}

}  // namespace
}  // namespace deepvoro
