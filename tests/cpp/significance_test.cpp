#include "deepvoro/episodes/significance.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "expect_error.hpp"

namespace deepvoro {
namespace {

struct Tail {
  double t;
  std::size_t degrees_of_freedom;
  double p;
};

TEST(StudentT, IsThatOfScipy) {
  // 2 * scipy.stats.t.sf(t, degrees_of_freedom)
  const std::vector<Tail> tails{
      {0.5, 1, 0.7048327646991336},        {2, 1, 0.2951672353008664},
      {1e8, 1, 6.366197723675813e-09},     {1e-9, 7, 0.999999999230017},
      {1.3, 2, 0.32324703181604053},       {2.5, 10, 0.031446844236608776},
      {12.7, 30, 1.3358175050038502e-13},  {1.96, 1999, 0.050134530577596946},
      {40, 1999, 1.5341630994703279e-257}, {44.5, 1999, 3.6632327882064944e-301},
      {1e5, 3, 2.2053155808932506e-15},    {5, 1'000'000, 5.733997870890731e-07},
      {0.3, 3000, 0.7641979403295222}};
  for (const auto& [t, degrees, p] : tails) {
    EXPECT_NEAR(student_t_two_sided(t, degrees) / p, 1, 1e-9) << t << ", " << degrees;
    EXPECT_EQ(student_t_two_sided(-t, degrees), student_t_two_sided(t, degrees));
  }
}

TEST(StudentT, HasItsLimits) {
  for (const std::size_t degrees : {1U, 2U, 5U, 1999U}) {
    EXPECT_EQ(student_t_two_sided(0, degrees), 1);
    EXPECT_EQ(student_t_two_sided(std::numeric_limits<double>::infinity(), degrees), 0);
  }
  EXPECT_EQ(student_t_two_sided(1e200, 5), 0) << "its square is infinite";
  EXPECT_EQ(student_t_two_sided(100, 1999), 0) << "below the smallest double";
  test::expect_error(ErrorKind::internal, {"degree"}, [] { (void)student_t_two_sided(1, 0); });
}

TEST(StudentT, FallsAsTGrows) {
  for (const std::size_t degrees : {1U, 3U, 50U, 1999U}) {
    double last = 1;
    for (int i = 1; i <= 300; ++i) {
      const double p = student_t_two_sided(0.1 * i, degrees);
      EXPECT_LT(p, last) << i << ", " << degrees;
      last = p;
    }
  }
}

TEST(TTest, IsThatOfScipy) {
  // scipy.stats.ttest_1samp(differences, 0)
  const auto test = t_test(std::array{1.5, -0.5, 2.0, 3.25, 0.0, -1.0, 4.0});
  ASSERT_TRUE(test);
  EXPECT_NEAR(test->t, 1.832521686585736, 1e-13);
  EXPECT_NEAR(test->p, 0.11658006349433553, 1e-13);
  EXPECT_EQ(test->degrees_of_freedom, 6U);
}

TEST(TTest, OfEqualDifferencesIsCertain) {
  EXPECT_EQ(t_test(std::vector<double>(50, 0.0))->p, 1);
  EXPECT_EQ(t_test(std::vector<double>(50, 0.0))->t, 0);
  EXPECT_EQ(t_test(std::vector<double>(50, 4.0 / 3))->p, 0);
  EXPECT_TRUE(std::isinf(t_test(std::vector<double>(50, -4.0 / 3))->t));
}

TEST(TTest, NeedsTwoDifferences) {
  EXPECT_FALSE(t_test(std::vector<double>{}));
  EXPECT_FALSE(t_test(std::array{3.0}));
  EXPECT_TRUE(t_test(std::array{3.0, 4.0}));
}

std::vector<double> signs(std::size_t positive, std::size_t negative, std::size_t ties = 0) {
  std::vector<double> values(positive, 2.0);
  values.insert(values.end(), negative, -0.5);
  values.insert(values.end(), ties, 0.0);
  return values;
}

TEST(SignTest, IsThatOfScipy) {
  // scipy.stats.binomtest(positive, positive + negative).pvalue
  EXPECT_DOUBLE_EQ(sign_test(signs(7, 3)).p, 0.34375);
  EXPECT_DOUBLE_EQ(sign_test(signs(3, 8)).p, 0.2265625);
  EXPECT_NEAR(sign_test(signs(560, 440)).p / 0.00016504987055045286, 1, 1e-10);
  EXPECT_NEAR(sign_test(signs(1200, 800)).p / 3.50500620693567e-19, 1, 1e-10);
  EXPECT_NEAR(sign_test(signs(1000, 0)).p / 1.8665272370064378e-301, 1, 1e-10);
  EXPECT_EQ(sign_test(signs(0, 100'000)).p, 0) << "below the smallest double";
}

TEST(SignTest, NeverExceedsOne) {
  for (const std::size_t each : {0U, 1U, 2U, 3U, 500U})
    EXPECT_EQ(sign_test(signs(each, each)).p, 1);
  EXPECT_EQ(sign_test(signs(1, 0)).p, 1);
  EXPECT_EQ(sign_test(signs(3, 2)).p, 1);
}

TEST(SignTest, CountsTiesAndLeavesThemOut) {
  const SignTest test = sign_test(signs(7, 3, 90));
  EXPECT_EQ(test.positive, 7U);
  EXPECT_EQ(test.negative, 3U);
  EXPECT_EQ(test.ties, 90U);
  EXPECT_EQ(test.p, sign_test(signs(7, 3)).p);
}

}  // namespace
}  // namespace deepvoro
