#include "geometry/surrogate_distances.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace deepvoro {
namespace {

using Set = std::set<std::size_t>;

// A base class belongs to the R nearest of a prototype when fewer than R others come before it.
Set plain_surrogates(const Matrix<double>& distances, std::size_t R) {
  Set chosen;
  for (std::size_t k = 0; k < distances.rows(); ++k)
    for (std::size_t t = 0; t < distances.cols(); ++t) {
      std::size_t before = 0;
      for (std::size_t other = 0; other < distances.cols(); ++other) {
        const double mine = distances.row(k)[t];
        const double its = distances.row(k)[other];
        if (its < mine || (its == mine && other < t)) ++before;
      }
      if (before < R) chosen.insert(t);
    }
  return chosen;
}

void select(SurrogateClasses<double>& classes, const Matrix<double>& distances,
            std::size_t largest_R) {
  classes.select(distances.view(), largest_R,
                 [&](std::size_t way, std::size_t base) { return distances.row(way)[base]; });
}

void expect_agreement(const Matrix<double>& distances, std::size_t largest_R,
                      SurrogateClasses<double>& classes) {
  select(classes, distances, largest_R);
  Set grown;
  for (std::size_t R = 1; R <= largest_R; ++R) {
    const auto joining = classes.joining_at(R);
    EXPECT_TRUE(std::ranges::is_sorted(joining)) << "R = " << R;
    for (const std::size_t t : joining)
      EXPECT_TRUE(grown.insert(t).second) << t << " joins again at R = " << R;
    EXPECT_EQ(grown, plain_surrogates(distances, R)) << "R = " << R;
  }
}

Matrix<double> distances_from(std::size_t ways, std::size_t bases, int distinct_values,
                              std::uint32_t seed) {
  std::mt19937 random(seed);
  Matrix<double> distances(ways, bases);
  for (std::size_t k = 0; k < ways; ++k)
    for (std::size_t t = 0; t < bases; ++t)
      distances.row(k)[t] =
          static_cast<double>(random() % static_cast<unsigned>(distinct_values)) / 8;
  return distances;
}

TEST(SurrogateClasses, AreTheNearestOfEveryPrototypeForAllR) {
  SurrogateClasses<double> classes;
  for (std::uint32_t seed = 0; seed < 20; ++seed)
    expect_agreement(distances_from(5, 30, 1'000'000, seed), 10, classes);
}

TEST(SurrogateClasses, BreakTiesToTheSmallerIndex) {
  SurrogateClasses<double> classes;
  for (std::uint32_t seed = 0; seed < 20; ++seed)
    for (const std::size_t largest_R : {1U, 4U, 12U})
      expect_agreement(distances_from(3, 12, 3, seed), largest_R, classes);
  expect_agreement(distances_from(2, 6, 1, 0), 6, classes);
}

TEST(SurrogateClasses, AreAllWhenThereAreFewerThanR) {
  SurrogateClasses<double> classes;
  expect_agreement(distances_from(4, 3, 1000, 1), 10, classes);
  EXPECT_TRUE(classes.joining_at(4).empty());
  EXPECT_TRUE(classes.joining_at(1000).empty());
}

TEST(SurrogateClasses, ForgetTheEpisodeBefore) {
  SurrogateClasses<double> classes;
  expect_agreement(distances_from(5, 40, 1000, 1), 20, classes);
  expect_agreement(distances_from(2, 5, 1000, 2), 3, classes);
  EXPECT_TRUE(classes.joining_at(4).empty());
}

TEST(SurrogateClasses, OfAHandMadeEpisode) {
  Matrix<double> distances(2, 4);
  std::ranges::copy(std::vector<double>{4, 1, 3, 2}, distances.row(0));
  std::ranges::copy(std::vector<double>{5, 1, 9, 6}, distances.row(1));
  SurrogateClasses<double> classes;
  select(classes, distances, 2);
  EXPECT_EQ(Set(classes.joining_at(1).begin(), classes.joining_at(1).end()), Set{1});
  EXPECT_EQ(Set(classes.joining_at(2).begin(), classes.joining_at(2).end()), (Set{0, 3}));
}

TEST(SurrogateClasses, AskForExactDistancesWhereRoundingDecides) {
  Matrix<float> rounded(1, 3);
  std::ranges::copy(std::vector<float>{1, 1, 2}, rounded.row(0));
  SurrogateClasses<float> classes;
  classes.select(rounded.view(), 1, [](std::size_t, std::size_t base) {
    return std::vector<double>{1 + 1e-9, 1 - 1e-9, 2}[base];
  });
  EXPECT_EQ(Set(classes.joining_at(1).begin(), classes.joining_at(1).end()), Set{1});
}

// One more than is needed is sorted; what lies behind it can be as close.
TEST(SurrogateClasses, AskForExactDistancesOfAllThatAreAsCloseAsTheLast) {
  const std::vector<double> exact{1 + 2e-9, 1 + 1e-9, 1, 1 - 1e-9, 2};
  Matrix<float> rounded(1, 5);
  std::ranges::copy(std::vector<float>{1, 1, 1, 1, 2}, rounded.row(0));
  SurrogateClasses<float> classes;
  classes.select(rounded.view(), 2, [&](std::size_t, std::size_t base) { return exact[base]; });
  EXPECT_EQ(Set(classes.joining_at(1).begin(), classes.joining_at(1).end()), Set{3});
  EXPECT_EQ(Set(classes.joining_at(2).begin(), classes.joining_at(2).end()), Set{2});
}

}  // namespace
}  // namespace deepvoro
