#include "deepvoro/episodes/statistics.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "deepvoro/episodes/reliability.hpp"
#include "expect_error.hpp"

namespace deepvoro {
namespace {

TEST(Estimate, IsMeanAndIntervalWithDdofZero) {
  const Estimate result = estimate(std::array{1.0, 2.0, 3.0, 6.0});
  EXPECT_DOUBLE_EQ(result.mean, 3);
  EXPECT_DOUBLE_EQ(result.ci95, 1.96 * std::sqrt(3.5) / 2);
}

TEST(Estimate, OfOneValueAndOfEqualValuesHasNoWidth) {
  EXPECT_EQ(estimate(std::array{70.0}).mean, 70);
  EXPECT_EQ(estimate(std::array{70.0}).ci95, 0);
  EXPECT_EQ(estimate(std::vector<double>(100, 25.0)).ci95, 0);
}

TEST(Estimate, OfNothingIsABug) {
  test::expect_error(ErrorKind::internal, {"no values"},
                     [] { (void)estimate(std::vector<double>{}); });
}

TEST(PairedDifference, IsTheEstimateOfTheDifferences) {
  const Estimate result =
      paired_difference(std::array{5.0, 7.0, 9.0, 11.0}, std::array{4.0, 5.0, 6.0, 5.0});
  EXPECT_DOUBLE_EQ(result.mean, 3);
  EXPECT_DOUBLE_EQ(result.ci95, 1.96 * std::sqrt(3.5) / 2);
}

TEST(PairedDifference, OfAMethodToItselfIsZero) {
  const std::array values{1.0, 50.0, 99.0};
  EXPECT_EQ(paired_difference(values, values).mean, 0);
  EXPECT_EQ(paired_difference(values, values).ci95, 0);
}

TEST(PairedDifference, NeedsEquallyMany) {
  test::expect_error(ErrorKind::internal, {"equally many"}, [] {
    (void)paired_difference(std::array{1.0, 2.0}, std::array{1.0});
  });
}

TEST(AreaUnderRoc, CountsPairsAndHalvesTies) {
  EXPECT_EQ(area_under_roc(std::array{3.0, 4.0}, std::array{1.0, 2.0, 2.5}), 1);
  EXPECT_EQ(area_under_roc(std::array{1.0}, std::array{2.0, 3.0}), 0);
  EXPECT_EQ(area_under_roc(std::array{2.0, 5.0}, std::array{2.0, 3.0}), (0.5 + 2) / 4);
}

TEST(CalibrationError, IsTheWeightedGapOfBins) {
  const std::array<std::uint8_t, 4> correct{1, 0, 1, 1};
  // Two bins: 0.5 belongs to the lower one.
  const std::array confidence{0.5, 0.3, 0.9, 1.0};
  EXPECT_NEAR(expected_calibration_error(confidence, correct, 2), (0.2 + 0.1) / 4, 1e-15);
  EXPECT_EQ(expected_calibration_error(std::array{0.0}, std::array<std::uint8_t, 1>{0}), 0);
}

}  // namespace
}  // namespace deepvoro
