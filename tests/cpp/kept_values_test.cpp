#include <gtest/gtest.h>

#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "ensemble/engine.hpp"
#include "ensemble/influence_field.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::random_split;
using test::TemporaryFolder;

// Members that share points lie apart, as in a ranking.
class KeptValues : public ::testing::Test {
 protected:
  struct Result {
    std::vector<double> sums;
    std::vector<std::vector<std::size_t>> members;    // as they were added, by episode
    std::vector<std::vector<std::uint32_t>> correct;  // after each of them
  };

  KeptValues() {
    test::write_store(folder_.path(), {{"base", random_split({.classes = 9, .dim = 70, .seed = 1})},
                                       {"novel", random_split({.dim = 70, .seed = 2})}});
    for (const std::size_t R : {3U, 1U, 2U, 5U})
      for (const char* view : {"s84_r0_f0", "s84_r0_f1"}) {
        pool_.push_back({view, {.lambda = 0.5}, Surrogate{.R = R, .beta = 0.5}});
        pool_.push_back({view, {.lambda = 1}, Surrogate{.R = R, .beta = 2}});
      }
    pool_.push_back({"s84_r0_f0", {.lambda = 0.5}, Voronoi{}});
    pool_[3].weight = 0.25;
  }

  [[nodiscard]] Result added(std::size_t largest_bytes, double alpha, unsigned threads) const {
    const FeatureStore store(folder_.path());
    const std::vector<std::size_t> labels = store.labels("novel");
    const EpisodeShape shape{.ways = 4, .shots = 2, .queries = 3};
    const EpisodeList episodes = draw_episodes(
        SamplePool{labels, store.split("novel").classes, "test"}, shape, Protocol::deepvoro, 13, 0);
    EpisodeSetting setting{store, "novel", episodes, Influence(alpha), threads};
    setting.largest_field_bytes = largest_bytes;
    const EpisodeRange range{2, 13};
    const std::size_t count = range.end - range.begin;
    InfluenceField field(count, shape, setting.influence);
    Result result;
    result.members.resize(count);
    result.correct.resize(count);
    std::mutex mutex;
    add_members(setting, pool_, range, field, [&](std::size_t member, std::size_t episode) {
      const std::size_t e = episode - range.begin;
      const std::uint32_t correct = field.correct_queries(e);
      const std::scoped_lock lock(mutex);
      result.members[e].push_back(member);
      result.correct[e].push_back(correct);
    });
    std::vector<double> scores(InfluenceField::values_per_episode(shape));
    for (std::size_t e = 0; e < count; ++e) {
      field.scores(e, scores);
      result.sums.insert(result.sums.end(), scores.begin(), scores.end());
    }
    return result;
  }

  TemporaryFolder folder_;
  Pool pool_;
};

TEST_F(KeptValues, AreAddedInTheOrderOfTheMembersWithTheSameBits) {
  constexpr std::size_t nothing = 1;
  const std::size_t of_episode = pool_.size() * 4 * padded(12) * sizeof(float);
  for (const double alpha : {1.0, 2.0, -1.0}) {
    const Result streamed = added(nothing, alpha, 1);
    for (const std::size_t bytes : {4 * of_episode, 1000 * of_episode})
      for (const unsigned threads : {1U, 3U}) {
        const Result kept = added(bytes, alpha, threads);
        EXPECT_EQ(kept.sums, streamed.sums);
        EXPECT_EQ(kept.correct, streamed.correct);
        std::vector<std::size_t> all(pool_.size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        for (const auto& members : kept.members) EXPECT_EQ(members, all);
      }
  }
}

}  // namespace
}  // namespace deepvoro
