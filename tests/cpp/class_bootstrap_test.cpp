#include "deepvoro/episodes/class_bootstrap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "expect_error.hpp"

namespace deepvoro {
namespace {

struct Drawn {
  std::vector<double> values;
  std::vector<std::size_t> classes_of;
};

constexpr std::size_t kClasses = 30;
constexpr std::size_t kWays = 5;

// Values that are the mean of an effect of each class and noise.
Drawn draw(std::size_t episodes, double effect, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> effects(kClasses);
  for (double& one : effects) one = effect * normal(random);
  std::vector<std::size_t> order(kClasses);
  for (std::size_t c = 0; c < kClasses; ++c) order[c] = c;
  Drawn drawn;
  for (std::size_t e = 0; e < episodes; ++e) {
    std::shuffle(order.begin(), order.end(), random);
    double value = noise * normal(random);
    for (std::size_t k = 0; k < kWays; ++k) {
      value += effects[order[k]] / kWays;
      drawn.classes_of.push_back(order[k]);
    }
    drawn.values.push_back(value);
  }
  return drawn;
}

double half_width(const Interval& interval) {
  return (interval.high - interval.low) / 2;
}

TEST(ClassBootstrap, IsAsWideAsThatOfTheEffectsOfTheClasses) {
  // The mean of many episodes is the mean of the effects of 30 classes, each with deviation 6.
  double sum = 0;
  constexpr int trials = 40;
  for (unsigned seed = 0; seed < trials; ++seed) {
    const Drawn drawn = draw(4000, 6, 0, seed);
    sum += half_width(class_bootstrap(drawn.values, drawn.classes_of, kClasses));
  }
  EXPECT_NEAR(sum / trials, 1.96 * 6 / std::sqrt(kClasses), 0.25);
}

TEST(ClassBootstrap, DoesNotShrinkWithTheNumberOfEpisodes) {
  const Drawn few = draw(1000, 6, 1, 3);
  const Drawn many = draw(16'000, 6, 1, 3);
  const double of_few = half_width(class_bootstrap(few.values, few.classes_of, kClasses));
  const double of_many = half_width(class_bootstrap(many.values, many.classes_of, kClasses));
  EXPECT_GT(of_many, 0.7 * of_few);
}

TEST(ClassBootstrap, IsAPointWhereAllEpisodesAreEqual) {
  const std::vector<double> values(4, 2.5);
  const std::vector<std::size_t> classes_of{0, 1, 1, 2, 2, 0, 0, 1};
  const Interval interval = class_bootstrap(values, classes_of, 3);
  EXPECT_EQ(interval.low, 2.5);
  EXPECT_EQ(interval.high, 2.5);
}

TEST(ClassBootstrap, TellsOfOtherClassesAsLeavingOneOutDoes) {
  // Leaving out a class of effect 30 c lowers the mean of all pairs of four by (30 c - mean) / 3.
  const std::vector<std::size_t> classes_of{0, 1, 0, 2, 0, 3, 1, 2, 1, 3, 2, 3};
  std::vector<double> values;
  for (std::size_t e = 0; e < 6; ++e)
    values.push_back(15.0 * static_cast<double>(classes_of[2 * e] + classes_of[2 * e + 1]));
  const Interval interval = class_bootstrap(values, classes_of, 4);
  // The effects of four draws from 0, 30, 60, 90, less their mean, over 4: at most 45 either way.
  EXPECT_GE(interval.low, 45 - 45.0);
  EXPECT_LE(interval.high, 45 + 45.0);
  EXPECT_NEAR(interval.low, 15, 1e-9) << "of four draws, 2.5% have a mean of at most 15";
  EXPECT_NEAR(interval.high, 75, 1e-9);
}

TEST(ClassBootstrap, NeedsClassesForEveryEpisode) {
  const std::vector<double> values{1, 2};
  const std::vector<std::size_t> three{0, 1, 0};
  test::expect_error(ErrorKind::internal, {"bootstrap"},
                     [&] { (void)class_bootstrap(values, three, 2); });
}

}  // namespace
}  // namespace deepvoro
