#include "deepvoro/episodes/episode.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "episodes/episode_stream.hpp"
#include "expect_error.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using Indices = std::vector<SampleIndex>;

// NumPy's RandomState.shuffle, written from its description alone.
template <class T>
void numpy_shuffle(std::mt19937& words, std::vector<T>& items) {
  for (std::size_t i = items.size() - 1; i >= 1; --i) {
    std::uint32_t mask = 1;
    while (mask < i) mask = mask * 2 + 1;
    std::uint32_t j = 0;
    do j = static_cast<std::uint32_t>(words()) & mask;
    while (j > i);
    std::swap(items[i], items[j]);
  }
}

Indices counting(std::size_t count) {
  Indices items;
  for (std::size_t i = 0; i < count; ++i) items.push_back(static_cast<SampleIndex>(i));
  return items;
}

struct PlainEpisode {
  Indices support;
  Indices query;
};

std::vector<Indices> rows_in_order_of_appearance(const std::vector<std::size_t>& labels) {
  std::vector<std::size_t> seen;
  std::vector<Indices> rows;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto found = std::ranges::find(seen, labels[row]);
    const auto place = static_cast<std::size_t>(found - seen.begin());
    if (found == seen.end()) {
      seen.push_back(labels[row]);
      rows.emplace_back();
    }
    rows[place].push_back(static_cast<SampleIndex>(row));
  }
  return rows;
}

std::vector<PlainEpisode> plain_episodes(const std::vector<std::size_t>& labels,
                                         const EpisodeShape& shape, Protocol protocol,
                                         std::size_t count, std::uint32_t seed) {
  std::vector<Indices> classes = rows_in_order_of_appearance(labels);
  std::size_t smallest = labels.size();
  for (const Indices& rows : classes) smallest = std::min(smallest, rows.size());
  std::mt19937 words(seed);
  std::vector<PlainEpisode> episodes(count);
  for (PlainEpisode& episode : episodes) {
    Indices chosen = counting(classes.size());
    numpy_shuffle(words, chosen);
    Indices carried = counting(smallest);
    for (std::size_t way = 0; way < shape.ways; ++way) {
      const Indices& rows = classes[chosen[way]];
      Indices order = protocol == Protocol::dc ? carried : counting(rows.size());
      numpy_shuffle(words, order);
      carried = order;
      for (std::size_t i = 0; i < shape.shots; ++i) episode.support.push_back(rows[order[i]]);
      for (std::size_t i = 0; i < shape.queries; ++i)
        episode.query.push_back(rows[order[shape.shots + i]]);
    }
  }
  return episodes;
}

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t c = 0; c < count; ++c) all.push_back("class-" + std::to_string(c));
  return all;
}

std::vector<std::size_t> shuffled_labels(const std::vector<std::size_t>& class_sizes) {
  std::vector<std::size_t> labels;
  for (std::size_t c = 0; c < class_sizes.size(); ++c)
    labels.insert(labels.end(), class_sizes[c], c);
  std::mt19937 random(5);
  std::ranges::shuffle(labels, random);
  return labels;
}

EpisodeList draw(const std::vector<std::size_t>& labels, const std::vector<std::string>& classes,
                 const EpisodeShape& shape, Protocol protocol, std::size_t count,
                 std::uint32_t seed) {
  return draw_episodes(SamplePool{labels, classes, "the store"}, shape, protocol, count, seed);
}

void expect_agreement(Protocol protocol, const EpisodeShape& shape, std::uint32_t seed) {
  const std::vector<std::size_t> class_sizes{17, 12, 30, 12, 25, 16, 13};
  const std::vector<std::size_t> labels = shuffled_labels(class_sizes);
  const EpisodeList episodes = draw(labels, names(class_sizes.size()), shape, protocol, 50, seed);
  const auto expected = plain_episodes(labels, shape, protocol, 50, seed);
  ASSERT_EQ(episodes.size(), expected.size());
  for (std::size_t e = 0; e < expected.size(); ++e) {
    EXPECT_EQ(Indices(episodes[e].support.begin(), episodes[e].support.end()), expected[e].support)
        << "episode " << e;
    EXPECT_EQ(Indices(episodes[e].query.begin(), episodes[e].query.end()), expected[e].query)
        << "episode " << e;
  }
}

TEST(DrawEpisodes, FollowsProtocolDeepvoro) {
  for (const std::uint32_t seed : {0U, 1U, 4294967295U}) {
    expect_agreement(Protocol::deepvoro, {.ways = 5, .shots = 1, .queries = 5}, seed);
    expect_agreement(Protocol::deepvoro, {.ways = 7, .shots = 4, .queries = 8}, seed);
  }
}

TEST(DrawEpisodes, FollowsProtocolDc) {
  for (const std::uint32_t seed : {0U, 1U, 4294967295U}) {
    expect_agreement(Protocol::dc, {.ways = 5, .shots = 1, .queries = 5}, seed);
    expect_agreement(Protocol::dc, {.ways = 7, .shots = 4, .queries = 8}, seed);
  }
}

TEST(DrawEpisodes, BeginsAsTheReferenceDoesOnTwentyClassesOf600) {
  std::vector<std::size_t> labels;
  for (std::size_t c = 0; c < 20; ++c) labels.insert(labels.end(), 600, c);
  const EpisodeList episodes =
      draw(labels, names(20), {.ways = 5, .shots = 2, .queries = 4}, Protocol::deepvoro, 1, 0);
  const Episode first = episodes[0];
  Indices classes;
  for (std::size_t way = 0; way < 5; ++way) classes.push_back(first.support[2 * way] / 600);
  EXPECT_EQ(classes, (Indices{18, 1, 19, 8, 10}));
  EXPECT_EQ(Indices(first.support.begin(), first.support.begin() + 2),
            (Indices{18 * 600 + 578, 18 * 600 + 52}));
  EXPECT_EQ(Indices(first.query.begin(), first.query.begin() + 4),
            (Indices{18 * 600 + 533, 18 * 600 + 367, 18 * 600 + 55, 18 * 600 + 62}));
}

TEST(DrawEpisodes, NumbersClassesInOrderOfFirstAppearance) {
  // The same samples under other class indices: the same episodes.
  const std::vector<std::size_t> labels{2, 0, 2, 1, 0, 1, 2, 0, 1};
  const std::vector<std::size_t> renamed{0, 1, 0, 2, 1, 2, 0, 1, 2};
  const EpisodeShape shape{.ways = 2, .shots = 1, .queries = 2};
  const EpisodeList a = draw(labels, names(3), shape, Protocol::deepvoro, 20, 3);
  const EpisodeList b = draw(renamed, names(3), shape, Protocol::deepvoro, 20, 3);
  for (std::size_t e = 0; e < a.size(); ++e)
    EXPECT_TRUE(std::ranges::equal(a[e].support, b[e].support) &&
                std::ranges::equal(a[e].query, b[e].query));
}

TEST(DrawEpisodes, GivesALongerListTheSameBeginning) {
  const auto labels = shuffled_labels({20, 20, 20});
  const EpisodeShape shape{.ways = 2, .shots = 3, .queries = 7};
  for (const Protocol protocol : {Protocol::deepvoro, Protocol::dc}) {
    const EpisodeList few = draw(labels, names(3), shape, protocol, 3, 0);
    const EpisodeList many = draw(labels, names(3), shape, protocol, 30, 0);
    for (std::size_t e = 0; e < few.size(); ++e)
      EXPECT_TRUE(std::ranges::equal(few[e].query, many[e].query));
  }
}

TEST(EpisodeStream, DrawsAsFarAsIsAskedFor) {
  const auto labels = shuffled_labels({20, 20, 20});
  const std::vector<std::string> classes = names(3);
  const EpisodeShape shape{.ways = 2, .shots = 3, .queries = 7};
  for (const Protocol protocol : {Protocol::deepvoro, Protocol::dc}) {
    EpisodeStream stream({labels, classes, "test"}, shape, protocol, 30, 0);
    EXPECT_EQ(stream.drawn(), 0U);
    for (const std::size_t count : {3U, 2U, 3U, 30U}) {
      (void)stream.at_least(count);
      EXPECT_EQ(stream.drawn(), std::max<std::size_t>(count, 3));
    }
    EXPECT_TRUE(std::ranges::equal(stream.at_least(30).rows(),
                                   draw(labels, classes, shape, protocol, 30, 0).rows()));
  }
}

TEST(DrawEpisodes, UsesNoSampleTwiceInAnEpisode) {
  const auto labels = shuffled_labels({20, 25, 30});
  const EpisodeShape shape{.ways = 3, .shots = 5, .queries = 15};
  for (const Protocol protocol : {Protocol::deepvoro, Protocol::dc}) {
    const EpisodeList episodes = draw(labels, names(3), shape, protocol, 10, 0);
    for (std::size_t e = 0; e < episodes.size(); ++e) {
      Indices all(episodes[e].support.begin(), episodes[e].support.end());
      all.insert(all.end(), episodes[e].query.begin(), episodes[e].query.end());
      std::ranges::sort(all);
      EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
    }
  }
}

TEST(DrawEpisodes, ProtocolDcUsesOnlyTheFirstRowsOfEachClass) {
  std::vector<std::size_t> labels(8, 0);
  labels.insert(labels.end(), 100, 1);
  const EpisodeList episodes =
      draw(labels, names(2), {.ways = 2, .shots = 4, .queries = 4}, Protocol::dc, 20, 0);
  for (std::size_t e = 0; e < episodes.size(); ++e)
    EXPECT_LT(std::ranges::max(episodes[e].query), 16U);
}

TEST(DrawEpisodes, NamesAClassThatIsTooSmall) {
  const auto labels = shuffled_labels({10, 5, 10});
  const EpisodeShape shape{.ways = 2, .shots = 1, .queries = 5};
  for (const Protocol protocol : {Protocol::deepvoro, Protocol::dc})
    expect_error(ErrorKind::data, {"the store", "'class-1'", "5 samples", "1 shot", "5 queries"},
                 [&] { (void)draw(labels, names(3), shape, protocol, 1, 0); });
}

TEST(DrawEpisodes, NamesAClassWithoutSamples) {
  const auto labels = shuffled_labels({10, 10});
  expect_error(ErrorKind::data, {"'class-2'", "0 samples"}, [&] {
    (void)draw(labels, names(3), {.ways = 2, .shots = 1, .queries = 5}, Protocol::deepvoro, 1, 0);
  });
}

TEST(DrawEpisodes, TakesAClassThatIsJustLargeEnough) {
  const auto labels = shuffled_labels({6, 6});
  EXPECT_EQ(draw(labels, names(2), {.ways = 2, .shots = 1, .queries = 5}, Protocol::deepvoro, 1, 0)
                .size(),
            1U);
}

TEST(DrawEpisodes, RefusesMoreWaysThanClasses) {
  const auto labels = shuffled_labels({10, 10});
  expect_error(ErrorKind::data, {"the store", "2 classes", "3 ways"}, [&] {
    (void)draw(labels, names(2), {.ways = 3, .shots = 1, .queries = 5}, Protocol::deepvoro, 1, 0);
  });
}

TEST(DrawEpisodes, RefusesAShapeThatIsNoTask) {
  const auto labels = shuffled_labels({10, 10});
  const auto expect_usage_error = [&](const EpisodeShape& shape, std::size_t count,
                                      std::string_view flag) {
    expect_error(ErrorKind::usage, {flag},
                 [&] { (void)draw(labels, names(2), shape, Protocol::deepvoro, count, 0); });
  };
  expect_usage_error({.ways = 1}, 1, "`ways`");
  expect_usage_error({.ways = 2, .shots = 0}, 1, "`shots`");
  expect_usage_error({.ways = 2, .shots = 1, .queries = 0}, 1, "`queries`");
  expect_usage_error({.ways = 2, .shots = 1, .queries = 1}, 0, "`episodes`");
}

TEST(EpisodeList, KeepsTheWaysInTheOrderTheyAreAppended) {
  EpisodeList episodes({.ways = 2, .shots = 1, .queries = 2});
  EXPECT_EQ(episodes.size(), 0U);
  episodes.append_way(Indices{10, 11, 12});
  EXPECT_EQ(episodes.size(), 0U) << "an episode of one way is not complete";
  episodes.append_way(Indices{20, 21, 22});
  ASSERT_EQ(episodes.size(), 1U);
  EXPECT_TRUE(std::ranges::equal(episodes[0].support, Indices{10, 20}));
  EXPECT_TRUE(std::ranges::equal(episodes[0].query, Indices{11, 12, 21, 22}));
}

TEST(EpisodeList, APartHasTheSameEpisodesAndTheirNumbers) {
  EpisodeList episodes({.ways = 2, .shots = 1, .queries = 1});
  for (SampleIndex row = 0; row < 10; ++row) episodes.append_way(Indices{row, row + 100});
  const EpisodeList part = episodes.part(1, 4).part(1, 3);
  ASSERT_EQ(part.size(), 2U);
  for (std::size_t e = 0; e < 2; ++e) {
    EXPECT_EQ(part.number(e), e + 2);
    EXPECT_TRUE(std::ranges::equal(part[e].support, episodes[e + 2].support));
    EXPECT_TRUE(std::ranges::equal(part[e].query, episodes[e + 2].query));
  }
  EXPECT_EQ(episodes.part(3, 3).size(), 0U);
}

TEST(Protocol, IsNamedBothWays) {
  for (const Protocol protocol : {Protocol::deepvoro, Protocol::dc})
    EXPECT_EQ(protocol_named(name(protocol)), protocol);
  expect_error(ErrorKind::usage, {"`protocol`", "other"}, [] { (void)protocol_named("other"); });
}

}  // namespace
}  // namespace deepvoro
