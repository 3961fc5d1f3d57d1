#include "ensemble/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "ensemble/ensemble.hpp"
#include "ensemble/influence_field.hpp"
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

constexpr const char* kFirst = "s84_r0_f0";
constexpr const char* kSecond = "s84_r0_f1";

// A store of one size, episodes on it, and the terms the engine gives for them.
class Bench {
 public:
  explicit Bench(std::size_t dim, const EpisodeShape& shape = {.ways = 4, .shots = 2, .queries = 3},
                 std::size_t episodes = 11)
      : data_{{"base", random_split({.classes = 9, .samples_per_class = 6, .dim = dim, .seed = 1})},
              {"novel", random_split({.classes = 7, .dim = dim, .seed = 2})}},
        store_(written()),
        labels_(store_.labels("novel")),
        episodes_(draw_episodes(SamplePool{labels_, store_.split("novel").classes, "test"}, shape,
                                Protocol::deepvoro, episodes, 0)) {}

  [[nodiscard]] EpisodeSetting setting(double alpha = 1, unsigned threads = 1) const {
    return {store_, "novel", episodes_, Influence(alpha), threads};
  }
  [[nodiscard]] const EpisodeList& episodes() const { return episodes_; }
  [[nodiscard]] const EpisodeShape& shape() const { return episodes_.shape(); }
  [[nodiscard]] std::vector<double> plain(const Member& member, std::size_t episode,
                                          double alpha) const {
    return plain_terms(data_, "novel", member, episodes_[episode], shape(), alpha);
  }

  // terms[member][episode], as visited.
  [[nodiscard]] std::vector<std::vector<std::vector<double>>> terms(const Pool& pool, double alpha,
                                                                    unsigned threads) const {
    return terms(pool, setting(alpha, threads));
  }
  [[nodiscard]] std::vector<std::vector<std::vector<double>>> terms(
      const Pool& pool, const EpisodeSetting& setting) const {
    std::vector<std::vector<std::vector<double>>> all(
        pool.size(), std::vector<std::vector<double>>(episodes_.size()));
    stream_members(setting, pool, {0, episodes_.size()},
                   [&](std::size_t member, std::size_t episode, std::span<const double> terms) {
                     all[member][episode].assign(terms.begin(), terms.end());
                   });
    return all;
  }

 private:
  FeatureStore written() const {
    test::write_store(folder_.path(), data_);
    return FeatureStore(folder_.path());
  }

  TemporaryFolder folder_;
  StoreData data_;
  FeatureStore store_;
  std::vector<std::size_t> labels_;
  EpisodeList episodes_;
};

Pool mixed_pool() {
  return {{kFirst, {.lambda = 0.5}, Voronoi{}},
          {kFirst, {.lambda = 0.75}, Voronoi{}},
          {kFirst, {.lambda = 0.75}, Surrogate{.R = 1, .beta = 7}},
          {kFirst, {.lambda = 0.75}, Surrogate{.R = 3, .beta = 4.5, .gamma = 0.5}},
          {kFirst, {.lambda = 0.75}, Surrogate{.R = 2, .beta = 5.5}},
          {kSecond, {.b = 0.02, .lambda = 0}, Surrogate{.R = 100, .beta = 3}},
          {kSecond, {.b = 0.02, .lambda = 0}, Voronoi{}},
          {kFirst, {.w = 2, .b = 0.5, .lambda = 2}, Voronoi{}}};
}

void expect_plain_terms(const Bench& bench, const Pool& pool, double alpha, unsigned threads,
                        double tolerance) {
  const auto terms = bench.terms(pool, alpha, threads);
  for (std::size_t m = 0; m < pool.size(); ++m)
    for (std::size_t e = 0; e < bench.episodes().size(); ++e) {
      const std::vector<double> expected = bench.plain(pool[m], e, alpha);
      ASSERT_EQ(terms[m][e].size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(terms[m][e][i], expected[i], tolerance * expected[i])
            << pool[m].id() << ", episode " << e << ", value " << i << ", alpha " << alpha;
    }
}

TEST(StreamMembers, GivesThePlainTermsInDoubleForShortRows) {
  const Bench bench(5);
  for (const double alpha : {1.0, 2.0, -1.0, 0.3})
    expect_plain_terms(bench, mixed_pool(), alpha, 2, 1e-11);
}

TEST(StreamMembers, GivesThePlainTermsToFloat32ForLongRows) {
  const Bench bench(70);
  for (const double alpha : {1.0, -2.0}) expect_plain_terms(bench, mixed_pool(), alpha, 2, 2e-5);
}

TEST(StreamMembers, GivesPlainTermsForManyShotsAndOneShot) {
  for (const EpisodeShape& shape : {EpisodeShape{.ways = 2, .shots = 1, .queries = 11},
                                    EpisodeShape{.ways = 7, .shots = 9, .queries = 3}})
    expect_plain_terms(Bench(17, shape), mixed_pool(), 1, 1, 1e-11);
}

TEST(StreamMembers, GivesTheSameBitsAtAnyThreadCount) {
  for (const std::size_t dim : {5U, 70U}) {
    const Bench bench(dim);
    const auto alone = bench.terms(mixed_pool(), 1.5, 1);
    EXPECT_EQ(bench.terms(mixed_pool(), 1.5, 2), alone);
    EXPECT_EQ(bench.terms(mixed_pool(), 1.5, 7), alone);
  }
}

// Rows that an episode does not draw are not looked at, and episodes may go one by one.
TEST(StreamMembers, GivesTheSameBitsWhicheverEpisodesGoTogether) {
  Pool pool = mixed_pool();
  pool.push_back({kSecond, {.lambda = 0.5}, Plda{}});
  for (const std::size_t dim : {5U, 70U, 300U})
    for (const std::size_t shots : {1U, 2U}) {
      const Bench bench(dim, {.ways = 4, .shots = shots, .queries = 3});
      EpisodeSetting setting = bench.setting(1, 2);
      const auto together = bench.terms(pool, setting);
      setting.largest_rows_bytes = 1;
      EXPECT_EQ(bench.terms(pool, setting), together) << dim << ", " << shots << " shots";
      setting.largest_rows_bytes = std::size_t{50} << 10U;
      EXPECT_EQ(bench.terms(pool, setting), together) << dim << ", " << shots << " shots";
    }
}

TEST(StreamMembers, VisitsEachEpisodeInTheOrderOfTheMembers) {
  const Bench bench(5);
  const Pool pool = mixed_pool();
  std::vector<std::size_t> all(pool.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const unsigned threads : {1U, 3U}) {
    std::mutex guard;
    std::vector<std::vector<std::size_t>> visits(bench.episodes().size());
    stream_members(bench.setting(1, threads), pool, {0, bench.episodes().size()},
                   [&](std::size_t member, std::size_t episode, std::span<const double>) {
                     const std::scoped_lock lock(guard);
                     visits.at(episode).push_back(member);
                   });
    for (const auto& of_episode : visits) EXPECT_EQ(of_episode, all);
  }
}

TEST(StreamMembers, VisitsOnlyTheEpisodesOfTheRange) {
  const Bench bench(5);
  const auto whole = bench.terms(mixed_pool(), 1, 1);
  std::vector<std::size_t> visited;
  stream_members(bench.setting(), mixed_pool(), {3, 6},
                 [&](std::size_t member, std::size_t episode, std::span<const double> terms) {
                   if (member == 0) visited.push_back(episode);
                   EXPECT_TRUE(std::ranges::equal(terms, whole[member][episode]));
                 });
  EXPECT_EQ(visited, (std::vector<std::size_t>{3, 4, 5}));
}

// Prototypes of so many episodes do not fit into the memory for them at once.
TEST(StreamMembers, GivesTheLastEpisodesOfManyAsOfFew) {
  constexpr std::size_t count = 5600;
  const Bench bench(128, {.ways = 6, .shots = 2, .queries = 1}, count);
  const Pool pool{{kFirst, {.lambda = 0.5}, Voronoi{}}, {kSecond, {.lambda = 0.5}, Voronoi{}}};
  using Terms = std::vector<std::vector<double>>;
  const auto last_terms = [&](std::size_t begin) {
    std::vector<Terms> terms(pool.size(), Terms(count));
    stream_members(bench.setting(), pool, {begin, count},
                   [&](std::size_t member, std::size_t episode, std::span<const double> values) {
                     terms[member][episode].assign(values.begin(), values.end());
                   });
    for (Terms& of_member : terms) of_member.erase(of_member.begin(), of_member.end() - 200);
    return terms;
  };
  EXPECT_EQ(last_terms(0), last_terms(count - 200));
}

// The prototypes of both first ways lie between base classes 0 and 1, nearer to one of them than
// float32 can tell; those of the second ways do not.
TEST(StreamMembers, DecidesCloseNeighboursAnewInEachEpisode) {
  const auto point = [](float second, float third) {
    std::vector<float> row(64);
    row[0] = 1;
    row[1] = second;
    row[2] = third;
    return row;
  };
  const StoreData data{
      {"base",
       {{0, 1, 2}, {"a", "b", "c"}, {{kFirst, {point(0.5, 0), point(-0.5, 0), point(0, 9)}}}}},
      {"novel",
       {{0, 0, 0, 1, 1, 1},
        {"x", "y"},
        {{kFirst,
          {point(1e-8F, 0), point(-1e-8F, 0), point(0.2F, 0.3F), point(0.1F, 8), point(-0.1F, 8),
           point(-0.3F, 7)}}}}}};
  const TemporaryFolder folder;
  test::write_store(folder.path(), data);
  const FeatureStore store(folder.path());
  constexpr EpisodeShape shape{.ways = 2, .shots = 1, .queries = 1};
  EpisodeList episodes(shape);
  for (const auto& [first, second] : {std::pair{0U, 3U}, {1U, 4U}, {0U, 4U}, {1U, 3U}}) {
    episodes.append_way(std::vector<SampleIndex>{first, 2});
    episodes.append_way(std::vector<SampleIndex>{second, 5});
  }
  const Member member{kFirst, {.w = 1, .b = 0, .lambda = 1}, Surrogate{.R = 1, .beta = 1}};
  stream_members({store, "novel", episodes, Influence(1), 1}, {member}, {0, episodes.size()},
                 [&](std::size_t, std::size_t e, std::span<const double> terms) {
                   const auto plain = plain_terms(data, "novel", member, episodes[e], shape, 1);
                   for (std::size_t i = 0; i < plain.size(); ++i)
                     EXPECT_NEAR(terms[i], plain[i], 1e-5) << "episode " << e;
                 });
}

TEST(StreamMembers, ReportsGrowingProgressUpToTheEnd) {
  const Bench bench(5);
  std::vector<double> fractions;
  stream_members(
      bench.setting(), mixed_pool(), {0, bench.episodes().size()},
      [](std::size_t, std::size_t, std::span<const double>) {},
      [&](double fraction) { fractions.push_back(fraction); });
  EXPECT_TRUE(std::ranges::is_sorted(fractions));
  ASSERT_FALSE(fractions.empty());
  EXPECT_GT(fractions.front(), 0);
  EXPECT_DOUBLE_EQ(fractions.back(), 1);
}

TEST(CountMembers, CountsWhatStreamedTermsSay) {
  for (const std::size_t dim : {5U, 130U}) {
    const Bench bench(dim);
    const auto terms = bench.terms(mixed_pool(), 1, 1);
    for (const double alpha : {1.0, -2.0}) {
      std::atomic<std::size_t> counted{0};
      count_members(bench.setting(alpha, 2), mixed_pool(), {2, 9},
                    [&](std::size_t member, std::size_t episode, std::uint32_t correct) {
                      EXPECT_EQ(correct,
                                plain_correct_queries(terms[member][episode], bench.shape()));
                      ++counted;
                    });
      EXPECT_EQ(counted, mixed_pool().size() * 7);
    }
  }
}

TEST(AddMembers, TellsOfEachAdditionInOrder) {
  const Bench bench(130);
  const Pool pool = mixed_pool();
  const auto terms = bench.terms(pool, 2, 1);
  InfluenceField field(4, bench.shape(), Influence(2));
  InfluenceField expected(4, bench.shape(), Influence(2));
  const std::size_t values = InfluenceField::values_per_episode(bench.shape());
  std::vector<double> scores(values);
  std::vector<double> expected_scores(values);
  add_members(bench.setting(2), pool, {3, 7}, field, [&](std::size_t member, std::size_t episode) {
    expected.add(episode - 3, terms[member][episode]);
    field.scores(episode - 3, scores);
    expected.scores(episode - 3, expected_scores);
    EXPECT_EQ(scores, expected_scores) << "member " << member << ", episode " << episode;
  });
}

TEST(StreamMembers, AgreesWithPlainFormulasWhenThereAreMoreWaysThanQueries) {
  for (const std::size_t shots : {1U, 3U}) {
    const Bench bench(130, {.ways = 6, .shots = shots, .queries = 2});
    const auto terms = bench.terms(mixed_pool(), 1, 2);
    for (std::size_t member = 0; member < mixed_pool().size(); ++member)
      for (std::size_t e = 0; e < bench.episodes().size(); ++e) {
        const auto plain = bench.plain(mixed_pool()[member], e, 1);
        for (std::size_t i = 0; i < plain.size(); ++i)
          EXPECT_NEAR(terms[member][e][i] / plain[i], 1, 1e-5) << member << ", episode " << e;
      }
  }
}

TEST(StreamMembers, PassesOnWhatAVisitorThrows) {
  const Bench bench(5);
  EXPECT_THROW(stream_members(bench.setting(1, 2), mixed_pool(), {0, bench.episodes().size()},
                              [](std::size_t, std::size_t episode, std::span<const double>) {
                                if (episode == 4) throw std::runtime_error("enough");
                              }),
               std::runtime_error);
}

TEST(StreamMembers, NamesTheFileAndRowThatCannotBeTransformed) {
  const Bench bench(5);
  expect_error(ErrorKind::data, {"novel", std::string(kFirst) + ".npy", "row", "column"}, [&] {
    stream_members(bench.setting(), {{kFirst, {.b = -1, .lambda = 0}, Voronoi{}}}, {0, 1},
                   [](std::size_t, std::size_t, std::span<const double>) {});
  });
}

TEST(StreamMembers, NamesABaseClassWithoutSamples) {
  const TemporaryFolder folder;
  StoreData data{{"base", random_split({})}, {"novel", random_split({})}};
  data["base"].classes.push_back("nobody");
  test::write_store(folder.path(), data);
  const FeatureStore store(folder.path());
  EpisodeList episodes({.ways = 2, .shots = 1, .queries = 1});
  for (int way = 0; way < 2; ++way) episodes.append_way(std::vector<SampleIndex>{0, 1});
  expect_error(ErrorKind::data, {"'nobody'", "base"}, [&] {
    stream_members({store, "novel", episodes, Influence(1), 1}, {{kFirst, {}, Surrogate{}}}, {0, 1},
                   [](std::size_t, std::size_t, std::span<const double>) {});
  });
}

TEST(CheckMembers, NamesTheViewAndTheSplitThatAreMissing) {
  const TemporaryFolder folder;
  test::write_store(folder.path(), {{"novel", random_split({})}});
  const FeatureStore store(folder.path());
  EXPECT_NO_THROW(check_members(store, "novel", {{kFirst, {}, Voronoi{}}}, "pool.json"));
  expect_error(ErrorKind::data, {"pool.json", "member 1", "'s999'", kFirst, kSecond}, [&] {
    check_members(store, "novel", {{kFirst, {}, Voronoi{}}, {"s999", {}, Voronoi{}}}, "pool.json");
  });
  expect_error(ErrorKind::data, {"pool.json", "'base'"}, [&] {
    check_members(store, "novel", {{kFirst, {}, Surrogate{}}}, "pool.json");
  });
  expect_error(ErrorKind::data, {"'val'"}, [&] {
    check_members(store, "val", {{kFirst, {}, Voronoi{}}}, "pool.json");
  });
}

TEST(StreamingOrder, PutsViewsThenTransformationsTogetherThenGrowsR) {
  const Transform root{.lambda = 0.5};
  const Transform log{.b = 0.02, .lambda = 0};
  const Pool pool{{"b", root, Voronoi{}},         {"a", root, Surrogate{.R = 3}},
                  {"b", log, Voronoi{}},          {"a", log, Voronoi{}},
                  {"a", root, Surrogate{.R = 1}}, {"b", root, Surrogate{.R = 2}},
                  {"a", root, Voronoi{}},         {"b", log, Surrogate{.R = 1}}};
  EXPECT_EQ(streaming_order(pool), (std::vector<std::size_t>{0, 5, 2, 7, 6, 4, 1, 3}));
}

TEST(StreamingOrder, KeepsEqualMembersAsTheyStand) {
  const Pool pool(4, {"a", {}, Voronoi{}});
  EXPECT_EQ(streaming_order(pool), (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_TRUE(streaming_order({}).empty());
}

std::vector<std::vector<double>> scores_of(const Bench& bench, const Pool& pool, double alpha) {
  std::vector<std::vector<double>> scores;
  (void)evaluate_ensemble(
      bench.setting(alpha), Selection::full(pool),
      [&](std::span<const double> values) { scores.emplace_back(values.begin(), values.end()); });
  return scores;
}

TEST(EvaluateEnsemble, OfOneMemberIsThatMember) {
  const Bench bench(5);
  for (const Member& member : mixed_pool()) {
    const auto terms = bench.terms({member}, 1, 1)[0];
    const auto scores = scores_of(bench, {member}, 1);
    const auto accuracy = evaluate_ensemble(bench.setting(), Selection::full({member}));
    ASSERT_EQ(scores.size(), terms.size());
    for (std::size_t e = 0; e < terms.size(); ++e) {
      std::vector<double> negated(terms[e]);
      for (double& value : negated) value = -value;
      EXPECT_EQ(scores[e], negated);
      EXPECT_EQ(accuracy[e],
                percent_of_queries(plain_correct_queries(terms[e], bench.shape()), bench.shape()));
    }
  }
}

TEST(EvaluateEnsemble, AddsItsMembers) {
  const Bench bench(5);
  const Pool pool = mixed_pool();
  for (const double alpha : {1.0, -1.0}) {
    const auto scores = scores_of(bench, pool, alpha);
    ASSERT_EQ(scores.size(), bench.episodes().size());
    for (std::size_t e = 0; e < scores.size(); ++e) {
      std::vector<double> sums(scores[e].size());
      for (const Member& member : pool) {
        const std::vector<double> terms = bench.plain(member, e, alpha);
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += terms[i];
      }
      for (std::size_t i = 0; i < sums.size(); ++i)
        ASSERT_NEAR(scores[e][i], alpha > 0 ? -sums[i] : sums[i], 1e-11 * sums[i]);
    }
  }
}

TEST(EvaluateEnsemble, CountsQueriesWhoseTrueClassHasTheLargestScore) {
  const Bench bench(5);
  const auto scores = scores_of(bench, mixed_pool(), 1);
  const auto accuracy = evaluate_ensemble(bench.setting(), Selection::full(mixed_pool()));
  double total = 0;
  for (std::size_t e = 0; e < scores.size(); ++e) {
    int correct = 0;
    for (std::size_t q = 0; q < 12; ++q) {
      const auto of_query = std::span(scores[e]).subspan(q * 4, 4);
      if (std::ranges::max_element(of_query) - of_query.begin() == static_cast<long>(q / 3))
        ++correct;
    }
    EXPECT_DOUBLE_EQ(accuracy[e], 100.0 * correct / 12);
    total += accuracy[e];
  }
  EXPECT_GT(total / static_cast<double>(scores.size()), 40) << "the task should be learnable";
}

TEST(EvaluateEnsemble, DoesNotDependOnTheOrderOfTheMembersBeyondRounding) {
  const Bench bench(5);
  Pool reversed = mixed_pool();
  std::ranges::reverse(reversed);
  const auto forward = scores_of(bench, mixed_pool(), 1);
  const auto backward = scores_of(bench, reversed, 1);
  for (std::size_t e = 0; e < forward.size(); ++e)
    for (std::size_t i = 0; i < forward[e].size(); ++i)
      EXPECT_NEAR(forward[e][i], backward[e][i], 1e-12 * std::abs(forward[e][i]));
}

TEST(FieldBatches, CoverAllEpisodesInFieldsOfBoundedSize) {
  EpisodeList episodes({.ways = 3, .shots = 1, .queries = 2});
  const std::vector<SampleIndex> way(3);
  for (std::size_t i = 0; i < 3 * 7; ++i) episodes.append_way(way);
  constexpr std::size_t of_episode = 3 * 3 * 2 * sizeof(double);
  std::vector<std::size_t> begins;
  std::size_t covered = 0;
  for (const EpisodeRange& batch : field_batches(episodes, 2 * of_episode)) {
    EXPECT_EQ(batch.begin, covered);
    begins.push_back(batch.begin);
    covered = batch.end;
  }
  EXPECT_EQ(covered, 7U);
  EXPECT_EQ(begins, (std::vector<std::size_t>{0, 2, 4, 6}));
  EXPECT_EQ(field_batches(episodes, 3 * of_episode - 1).size(), 4U);
  EXPECT_EQ(field_batches(episodes, 1).size(), 7U) << "an episode is never divided";
  EXPECT_EQ(field_batches(episodes, 7 * of_episode).size(), 1U);
  EXPECT_TRUE(field_batches(EpisodeList({}), of_episode).empty());
}

TEST(EvaluateEnsemble, GivesTheSameInBatches) {
  const Bench bench(5);
  const Selection members = Selection::full(mixed_pool());
  EpisodeSetting setting = bench.setting();
  const auto scores_and_accuracy = [&] {
    std::vector<double> scores;
    std::vector<double> accuracy =
        evaluate_ensemble(setting, members, [&](std::span<const double> values) {
          scores.insert(scores.end(), values.begin(), values.end());
        });
    return std::pair(scores, accuracy);
  };
  const auto at_once = scores_and_accuracy();
  setting.largest_field_bytes =
      4 * InfluenceField::values_per_episode(bench.shape()) * sizeof(double);
  ASSERT_EQ(field_batches(setting.episodes, setting.largest_field_bytes).size(), 3U);
  EXPECT_EQ(scores_and_accuracy(), at_once);
}

TEST(PartOf, MapsAStepIntoTheWhole) {
  std::vector<double> fractions;
  const Progress whole = [&](double fraction) { fractions.push_back(fraction); };
  part_of(whole, 0, 4)(0.5);
  part_of(whole, 3, 4)(1);
  EXPECT_EQ(fractions, (std::vector<double>{0.125, 1}));
  EXPECT_FALSE(part_of({}, 0, 4));
}

}  // namespace
}  // namespace deepvoro
