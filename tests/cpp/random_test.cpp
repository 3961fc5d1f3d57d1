#include "core/random.hpp"

#include <gtest/gtest.h>

namespace deepvoro {
namespace {

TEST(LegacyRandom, GivesNumpysPermutation) {
  EXPECT_EQ(LegacyRandom(0).permutation(10),
            (std::vector<std::size_t>{2, 8, 4, 9, 1, 6, 7, 3, 0, 5}));
}

TEST(LegacyRandom, RunsOnFromCallToCall) {
  LegacyRandom random(0);
  const auto classes = random.permutation(20);
  EXPECT_EQ((std::vector(classes.begin(), classes.begin() + 5)),
            (std::vector<std::size_t>{18, 1, 19, 8, 10}));
  const auto rows = random.permutation(600);
  EXPECT_EQ((std::vector(rows.begin(), rows.begin() + 6)),
            (std::vector<std::size_t>{578, 52, 533, 367, 55, 62}));
}

TEST(LegacyRandom, GivesNumpysUniformNumbers) {
  LegacyRandom random(0);
  EXPECT_EQ(random.uniform(0, 1), 0.5488135039273248);
  EXPECT_EQ(random.uniform(-2, 2), 0.8607574654896779);
  EXPECT_EQ(random.uniform(0, 1), 0.6027633760716439);
}

TEST(LegacyRandom, BeginningsOfPermutationsAreThoseOfWholeOnes) {
  LegacyRandom whole(3);
  LegacyRandom beginning(3);
  for (const std::size_t count : {1U, 2U, 3U, 16U, 17U, 100U, 600U, 1025U})
    for (const std::size_t wanted : {0U, 1U, 2U, 5U, 16U, 99U, 600U, 1025U}) {
      if (wanted > count) continue;
      const auto permutation = whole.permutation(count);
      std::vector<std::size_t> first(wanted);
      beginning.begin_permutation(count, first);
      EXPECT_EQ(first, std::vector(permutation.begin(),
                                   permutation.begin() + static_cast<std::ptrdiff_t>(wanted)))
          << wanted << " of " << count;
    }
  EXPECT_EQ(beginning.uniform(0, 1), whole.uniform(0, 1));
}

TEST(LegacyRandom, ShufflesNothingAndOneItemWithoutDrawing) {
  LegacyRandom random(7);
  EXPECT_TRUE(random.permutation(0).empty());
  EXPECT_EQ(random.permutation(1), std::vector<std::size_t>{0});
  random.begin_permutation(0, {});
  EXPECT_EQ(random.permutation(10), LegacyRandom(7).permutation(10));
}

}  // namespace
}  // namespace deepvoro
