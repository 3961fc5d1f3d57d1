#include "deepvoro/study/evaluate.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "expect_error.hpp"

namespace deepvoro {
namespace {

using testing::expect_error;

constexpr std::array<std::size_t, 2> kShots{1, 5};

TEST(ForMethods, HasEveryMethodAtEveryNumberOfShots) {
  const std::array methods{Method::vd, Method::dc};
  const std::vector<Evaluation> all = for_methods({.split = "val"}, methods, kShots);
  ASSERT_EQ(all.size(), 4U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].method, methods[i % 2]);
    EXPECT_EQ(all[i].plan.shape.shots, kShots[i / 2]);
    EXPECT_EQ(all[i].split, "val");
  }
}

TEST(ForMethods, ASchemeIsForThoseWithMembers) {
  const std::array methods{Method::simpleshot, Method::deepvoro};
  const Evaluation guided{.scheme = Scheme::guided, .size = 3, .oracle = true};
  const std::vector<Evaluation> all = for_methods(guided, methods, kShots);
  EXPECT_EQ(all[0].scheme, Scheme::full);
  EXPECT_EQ(all[0].size, std::nullopt);
  EXPECT_FALSE(all[0].oracle);
  EXPECT_EQ(all[1].scheme, Scheme::guided);
  EXPECT_EQ(all[1].size, 3U);
  EXPECT_TRUE(all[1].oracle);
}

TEST(ForMethods, ASchemeThatNoneCanFollowIsRefused) {
  expect_error(ErrorKind::usage, {"--scheme guided", "simpleshot"}, [] {
    (void)for_methods({.scheme = Scheme::guided}, std::array{Method::simpleshot, Method::dc},
                      kShots);
  });
}

TEST(Evaluation, EpochsHaveAnEnd) {
  for (const std::size_t epochs : {std::size_t{0}, std::size_t{1'000'001}})
    expect_error(ErrorKind::usage, {"--epochs", "1 to 1000000"},
                 [&] { check({.method = Method::power_lr, .epochs = epochs}); });
  check({.method = Method::power_lr, .epochs = 1'000'000});
}

}  // namespace
}  // namespace deepvoro
