#include "ensemble/influence_field.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace deepvoro {
namespace {

constexpr EpisodeShape kTwoWays{.ways = 2, .shots = 1, .queries = 2};

std::vector<double> scores_of(const InfluenceField& field, std::size_t episode) {
  std::vector<double> scores(InfluenceField::values_per_episode(kTwoWays));
  field.scores(episode, scores);
  return scores;
}

std::uint32_t correct_of(const std::vector<double>& terms, double alpha) {
  InfluenceField field(2, kTwoWays, Influence(alpha));
  field.add(1, terms);
  return field.correct_queries(1);
}

TEST(InfluenceField, StartsAtZero) {
  const InfluenceField field(3, kTwoWays, Influence(1));
  EXPECT_EQ(scores_of(field, 2), std::vector<double>(8, 0.0));
}

TEST(InfluenceField, HoldsTheNegatedSumOfTermsForPositiveAlpha) {
  InfluenceField field(2, kTwoWays, Influence(1));
  field.add(1, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
  field.add(1, std::vector<double>{10, 0, 0, 0, 0, 0, 0, 10});
  EXPECT_EQ(scores_of(field, 1), (std::vector<double>{-11, -2, -3, -4, -5, -6, -7, -18}));
  EXPECT_EQ(scores_of(field, 0), std::vector<double>(8, 0.0)) << "another episode was touched";
}

TEST(InfluenceField, HoldsTheSumOfTermsForNegativeAlpha) {
  InfluenceField field(1, kTwoWays, Influence(-1));
  field.add(0, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(scores_of(field, 0), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(InfluenceField, CountsTheQueriesInTheCellOfTheirClass) {
  // The first two queries are of class 0, the others of class 1; the second and third are wrong.
  EXPECT_EQ(correct_of({1, 2, 4, 3, 5, 6, 8, 7}, 2), 2U);
  const std::vector<double> all_right{1, 2, 1, 2, 2, 1, 2, 1};
  EXPECT_EQ(correct_of(all_right, 1), 4U);
  EXPECT_EQ(correct_of(all_right, -1), 0U);
}

TEST(InfluenceField, BreaksTiesToTheSmallestClass) {
  const std::vector<double> ties(8, 3.0);
  EXPECT_EQ(correct_of(ties, 1), 2U);
  EXPECT_EQ(correct_of(ties, -1), 2U);
}

TEST(InfluenceField, HasAValueForEachQueryAndWay) {
  EXPECT_EQ(InfluenceField::values_per_episode({.ways = 5, .shots = 1, .queries = 15}), 375U);
}

TEST(PercentOfQueries, IsOverAllQueriesOfTheEpisodes) {
  const EpisodeShape shape{.ways = 5, .shots = 1, .queries = 15};
  EXPECT_DOUBLE_EQ(percent_of_queries(75, shape), 100);
  EXPECT_DOUBLE_EQ(percent_of_queries(30, shape), 40);
  EXPECT_DOUBLE_EQ(percent_of_queries(30, shape, 2), 20);
}

}  // namespace
}  // namespace deepvoro
