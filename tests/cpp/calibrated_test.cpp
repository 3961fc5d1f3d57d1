#include "heads/calibrated.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "expect_error.hpp"
#include "heads/base_statistics.hpp"
#include "heads/preparation.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::random_points;
using test::random_split;
using test::TemporaryFolder;

class CalibratedTest : public ::testing::Test {
 protected:
  static constexpr std::size_t dim = 12;

  CalibratedTest() {
    test::write_store(
        folder_.path(),
        {{"base", random_split({.classes = 5, .samples_per_class = 9, .dim = dim, .seed = 3})}});
    base_ = std::make_unique<BaseStatistics>(FeatureStore(folder_.path()), "s84_r0_f0", 2);
    rows_ = random_points(3, dim, 4);
    for (double& x : std::span(rows_.row(0), 3 * rows_.stride())) x = std::sqrt(std::abs(x));
  }

  // The base classes nearest to a row, and what the Gaussian of the row should be.
  [[nodiscard]] std::vector<std::size_t> two_nearest(std::size_t row) const {
    std::vector<std::size_t> order(base_->classes());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t c) {
      double squared = 0;
      for (std::size_t d = 0; d < dim; ++d)
        squared += std::pow(rows_.row(row)[d] - base_->means()[c][d], 2);
      return squared;
    });
    return {order[0], order[1]};
  }

  TemporaryFolder folder_;
  std::unique_ptr<BaseStatistics> base_;
  Matrix<double> rows_;
};

TEST_F(CalibratedTest, BaseStatisticsAreMeanAndCovarianceWithDdof1) {
  const FeatureStore store(folder_.path());
  const std::vector<std::size_t> labels = store.labels("base");
  const PreparedView rows(store, "base", "s84_r0_f0", {}, 1);
  std::vector<double> scratch(padded(dim));
  double mean[2] = {};
  double product = 0;
  for (std::size_t r = 0; r < labels.size(); ++r)
    if (labels[r] == 2)
      for (const std::size_t d : {0U, 1U}) mean[d] += rows.row(r, scratch.data())[d] / 9;
  for (std::size_t r = 0; r < labels.size(); ++r)
    if (labels[r] == 2) {
      const double* row = rows.row(r, scratch.data());
      product += (row[0] - mean[0]) * (row[1] - mean[1]) / 8;
    }
  EXPECT_NEAR(base_->means()[2][0], mean[0], 1e-12);
  double actual = 0;
  for (std::size_t j = 0; j < base_->deviations(2).rows(); ++j)
    actual += static_cast<double>(base_->deviations(2)[j][0]) *
              static_cast<double>(base_->deviations(2)[j][1]);
  EXPECT_NEAR(actual, product, 1e-6);
}

TEST_F(CalibratedTest, SamplesHaveTheMeanAndCovarianceOfTheMethod) {
  constexpr std::size_t count = 60000;
  CalibratedHead head(*base_, {.samples = count, .gradient_tolerance = 1e9});
  head.fit({.rows = rows_.view(), .ways = 3, .shots = 1, .stream = 5});
  for (std::size_t row = 0; row < 3; ++row) {
    const auto near = two_nearest(row);
    const Matrix<double> samples = head.samples(row);
    ASSERT_EQ(samples.rows(), count);
    std::vector<double> mean(dim);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t d = 0; d < dim; ++d) mean[d] += samples.row(i)[d] / count;
    for (std::size_t d = 0; d < dim; ++d)
      EXPECT_NEAR(mean[d],
                  (rows_.row(row)[d] + base_->means()[near[0]][d] + base_->means()[near[1]][d]) / 3,
                  0.03);
    for (const std::size_t a : {0U, 5U})
      for (std::size_t b = 0; b < dim; ++b) {
        double expected = 0.21;
        for (const std::size_t c : near)
          for (std::size_t j = 0; j < base_->deviations(c).rows(); ++j)
            expected += static_cast<double>(base_->deviations(c)[j][a]) *
                        static_cast<double>(base_->deviations(c)[j][b]) / 2;
        double actual = 0;
        for (std::size_t i = 0; i < count; ++i)
          actual += (samples.row(i)[a] - mean[a]) * (samples.row(i)[b] - mean[b]) / count;
        EXPECT_NEAR(actual, expected, 0.05) << "elements " << a << " and " << b;
      }
  }
}

// The largest element of the gradient, from samples that are made, in double.
double largest_gradient(const CalibratedHead& head, const Support& support) {
  const std::size_t ways = support.ways;
  const std::size_t dim = support.rows.cols();
  std::vector<double> gradient_W(ways * dim);
  std::vector<double> gradient_b(ways);
  const auto add = [&](std::span<const double> x, std::size_t label) {
    std::vector<double> p(ways);
    double total = 0;
    for (std::size_t k = 0; k < ways; ++k) {
      p[k] = std::exp(
          std::inner_product(x.begin(), x.end(), head.weights()[k].begin(), head.biases()[k]));
      total += p[k];
    }
    for (std::size_t k = 0; k < ways; ++k) {
      const double residual = p[k] / total - (k == label ? 1 : 0);
      gradient_b[k] += residual;
      for (std::size_t d = 0; d < dim; ++d) gradient_W[k * dim + d] += residual * x[d];
    }
  };
  for (std::size_t r = 0; r < support.rows.rows(); ++r) {
    add(support.rows[r], support.label(r));
    const Matrix<double> samples = head.samples(r);
    for (std::size_t i = 0; i < samples.rows(); ++i) add(samples.view()[i], support.label(r));
  }
  double largest = 0;
  for (std::size_t k = 0; k < ways; ++k) {
    largest = std::max(largest, std::abs(gradient_b[k]));
    for (std::size_t d = 0; d < dim; ++d)
      largest = std::max(largest, std::abs(gradient_W[k * dim + d] + head.weights()[k][d]));
  }
  return largest;
}

TEST_F(CalibratedTest, EndsAtTheMinimumOfTheObjectiveOnItsSamples) {
  const Support one_shot{.rows = rows_.view(), .ways = 3, .shots = 1, .stream = 6};
  CalibratedHead head(*base_);
  head.fit(one_shot);
  EXPECT_EQ(head.samples(0).rows(), 750);
  EXPECT_LT(largest_gradient(head, one_shot), 1e-3);
  Matrix<double> more = random_points(8, dim, 9);
  for (double& x : std::span(more.row(0), 8 * more.stride())) x = std::abs(x);
  const Support four_shots{.rows = more.view(), .ways = 2, .shots = 4, .stream = 7};
  head.fit(four_shots);
  EXPECT_EQ(head.samples(0).rows(), 750 / 4);
  EXPECT_LT(largest_gradient(head, four_shots), 1e-3);
}

TEST_F(CalibratedTest, SamplesDependOnTheStream) {
  CalibratedHead head(*base_);
  Support support{.rows = rows_.view(), .ways = 3, .shots = 1, .stream = 6};
  head.fit(support);
  const double first = head.samples(0).row(0)[0];
  support.stream = 7;
  head.fit(support);
  EXPECT_NE(head.samples(0).row(0)[0], first);
  support.stream = 6;
  head.fit(support);
  EXPECT_EQ(head.samples(0).row(0)[0], first);
}

TEST(BaseStatistics, AClassOfOneSampleHasNoCovariance) {
  TemporaryFolder folder;
  test::write_store(folder.path(), {{"base",
                                     {.labels = {0, 0, 1},
                                      .classes = {"many", "single"},
                                      .views = {{"v", {{1, 4}, {9, 6}, {2, 3}}}}}}});
  expect_error(ErrorKind::data, {"single", "1 sample"},
               [&] { (void)BaseStatistics(FeatureStore(folder.path()), "v", 1); });
}

// The covariances of as many classes as there are, averaged, whatever number was asked for.
TEST(CalibratedHead, SharesTheNoiseAmongTheBaseClassesThereAre) {
  constexpr std::size_t dim = 6;
  constexpr std::size_t count = 4000;
  const TemporaryFolder folder;
  test::write_store(
      folder.path(),
      {{"base", random_split({.classes = 2, .samples_per_class = 30, .dim = dim, .seed = 3})}});
  const BaseStatistics base(FeatureStore(folder.path()), "s84_r0_f0", 1);
  Matrix<double> rows = random_points(2, dim, 4);
  CalibratedHead head(base,
                      {.neighbours = 8, .spread = 0, .samples = count, .gradient_tolerance = 1e9});
  head.fit({.rows = rows.view(), .ways = 2, .shots = 1, .stream = 1});
  double expected = 0;
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t j = 0; j < base.deviations(c).rows(); ++j)
      for (std::size_t d = 0; d < dim; ++d)
        expected += std::pow(static_cast<double>(base.deviations(c).row(j)[d]), 2) / 2;
  const Matrix<double> samples = head.samples(0);
  double actual = 0;
  for (std::size_t d = 0; d < dim; ++d) {
    const double mean = (rows.row(0)[d] + base.means()[0][d] + base.means()[1][d]) / 3;
    for (std::size_t i = 0; i < count; ++i) actual += std::pow(samples.row(i)[d] - mean, 2) / count;
  }
  EXPECT_NEAR(actual / expected, 1, 0.05);
}

}  // namespace
}  // namespace deepvoro
