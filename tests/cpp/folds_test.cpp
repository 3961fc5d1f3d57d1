#include "classifier/folds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace deepvoro {
namespace {

std::vector<std::size_t> labels_of(const std::vector<std::size_t>& sizes) {
  std::vector<std::size_t> labels;
  for (std::size_t k = 0; k < sizes.size(); ++k) labels.insert(labels.end(), sizes[k], k);
  return labels;
}

TEST(Folds, LeaveEverySampleOutOnceUnlessItIsAlone) {
  const std::vector<std::size_t> labels{2, 0, 1, 0, 0, 2, 0, 0, 0, 0};
  const std::vector<Fold> folds = folds_of(labels, 3);
  std::vector<std::size_t> times_out(labels.size());
  for (const Fold& fold : folds) {
    std::vector<std::size_t> all = fold.in;
    all.insert(all.end(), fold.out.begin(), fold.out.end());
    std::ranges::sort(all);
    std::vector<std::size_t> every(labels.size());
    std::iota(every.begin(), every.end(), std::size_t{0});
    EXPECT_EQ(all, every);
    for (const std::size_t i : fold.out) ++times_out[i];
  }
  for (std::size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(times_out[i], labels[i] == 1 ? 0U : 1U);
  // The sixth of a class goes with its first.
  EXPECT_EQ(folds.size(), 5U);
  EXPECT_EQ(folds[0].out, (std::vector<std::size_t>{0, 1, 8}));
}

TEST(Folds, AreNoneWhereNothingCanBeLeftOut) {
  EXPECT_TRUE(folds_of(labels_of({1, 1, 1}), 3).empty());
  EXPECT_TRUE(folds_of(labels_of({7}), 1).empty());
  EXPECT_EQ(folds_of(labels_of({2, 1}), 2).size(), 2U);
}

TEST(Folds, KnowHowManySamplesTheyHave) {
  EXPECT_DOUBLE_EQ(mean_shots(labels_of({1, 2, 4}), 3), 3 / (1 + 0.5 + 0.25));
  // Of those that can be left out, a fifth or, of two, a half.
  EXPECT_DOUBLE_EQ(shots_in_folds(labels_of({1, 10, 10}), 3), 8);
  EXPECT_DOUBLE_EQ(shots_in_folds(labels_of({2, 2, 1}), 3), 1);
}

TEST(Folds, OfManySamplesTakeSomeFromAllPartsOfEachClass) {
  const std::vector<std::size_t> labels = labels_of({3000, 4, 2000});
  const std::vector<std::size_t> some = enough_samples(labels, 3);
  EXPECT_LE(some.size(), 2000U);
  EXPECT_GT(some.size(), 1990U);
  const auto of_class = [&](std::size_t k) {
    return std::ranges::count_if(some, [&](std::size_t i) { return labels[i] == k; });
  };
  EXPECT_EQ(of_class(0), of_class(2));
  EXPECT_EQ(of_class(1), 4);
  EXPECT_GT(*(std::ranges::lower_bound(some, 3000) - 1), 2990U);
  const std::vector<std::size_t> few = labels_of({3, 4});
  EXPECT_EQ(enough_samples(few, 2).size(), few.size());
}

}  // namespace
}  // namespace deepvoro
