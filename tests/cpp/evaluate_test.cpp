#include "deepvoro/study/series.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "expect_error.hpp"

namespace deepvoro {
namespace {

using test::expect_error;

EvaluationSeries series(std::vector<std::string> methods, const Evaluation& common) {
  return {.methods = std::move(methods), .shots = {1, 5}, .common = common};
}

TEST(EvaluationSeries, HasEveryMethodAtEveryNumberOfShots) {
  const std::vector<Evaluation> all = series({"vd", "dc"}, {.split = "val"}).evaluations();
  ASSERT_EQ(all.size(), 4U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].method, i % 2 == 0 ? Method::vd : Method::dc);
    EXPECT_EQ(all[i].plan.shape.shots, i < 2 ? 1U : 5U);
    EXPECT_EQ(all[i].split, "val");
  }
}

TEST(EvaluationSeries, ASchemeIsForThoseWithMembers) {
  const std::vector<Evaluation> all =
      series({"simpleshot", "deepvoro"}, {.scheme = Scheme::guided, .size = 3, .oracle = true})
          .evaluations();
  EXPECT_EQ(all[0].scheme, Scheme::full);
  EXPECT_EQ(all[0].size, std::nullopt);
  EXPECT_FALSE(all[0].oracle);
  EXPECT_EQ(all[1].scheme, Scheme::guided);
  EXPECT_EQ(all[1].size, 3U);
  EXPECT_TRUE(all[1].oracle);
}

TEST(EvaluationSeries, ASchemeThatNoneCanFollowIsRefused) {
  expect_error(ErrorKind::usage, {"`scheme` guided", "simpleshot"}, [] {
    (void)series({"simpleshot", "dc"}, {.scheme = Scheme::guided}).evaluations();
  });
}

TEST(Evaluation, EpochsHaveAnEnd) {
  for (const std::size_t epochs : {std::size_t{0}, std::size_t{1'000'001}})
    expect_error(ErrorKind::usage, {"`epochs`", "1 to 1000000"},
                 [&] { check({.method = Method::power_lr, .logistic = {.epochs = epochs}}); });
  check({.method = Method::power_lr, .logistic = {.epochs = 1'000'000}});
  for (const double decay : {-0.1, 1001.0, std::numeric_limits<double>::quiet_NaN()})
    expect_error(ErrorKind::usage, {"`weight_decay`", "0 to 1000"},
                 [&] { check({.method = Method::power_lr, .logistic = {.weight_decay = decay}}); });
}

}  // namespace
}  // namespace deepvoro
