#include "kernels/head_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/matrix.hpp"
#include "test_store.hpp"

namespace deepvoro::kernels {
namespace {

using deepvoro::test::random_points;

class HeadSumsTest : public ::testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (table(GetParam()) == nullptr) GTEST_SKIP() << "this processor has no " << name(GetParam());
    kernels_ = &head_table(GetParam());
  }
  const HeadTable* kernels_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Levels, HeadSumsTest,
                         ::testing::Values(Level::generic, Level::avx2, Level::avx512, Level::neon),
                         [](const auto& level) { return std::string(name(level.param)); });

Matrix<float> in_float(const Matrix<double>& from) {
  Matrix<float> to(from.rows(), from.cols());
  for (std::size_t r = 0; r < from.rows(); ++r)
    for (std::size_t c = 0; c < from.cols(); ++c) to.row(r)[c] = static_cast<float>(from.row(r)[c]);
  return to;
}

TEST_P(HeadSumsTest, SumsOfRowsAreThoseOfALoopToTheBit) {
  for (std::size_t count = 1; count <= 11; ++count) {
    const Matrix<double> rows = random_points(count, 37, 11);
    std::vector<double> sums(count);
    std::vector<double> squares(count);
    kernels_->row_sums(rows.row(0), rows.stride(), count, 37, sums.data());
    kernels_->row_squares(rows.row(0), rows.stride(), count, 37, squares.data());
    for (std::size_t k = 0; k < count; ++k) {
      double sum = 0;
      double square = 0;
      for (std::size_t i = 0; i < 37; ++i) {
        sum += rows.row(k)[i];
        square += rows.row(k)[i] * rows.row(k)[i];
      }
      EXPECT_EQ(sums[k], sum);
      EXPECT_EQ(squares[k], square);
    }
  }
}

TEST_P(HeadSumsTest, ResidualsOfSamplesAreProbabilitiesLessTheLabel) {
  constexpr std::size_t count = 37;
  for (std::size_t ways = 1; ways <= 7; ++ways) {
    const Matrix<double> shifts = random_points(1, ways, 13);
    const Matrix<float> before = in_float(random_points(ways, count, 14));
    Matrix<float> logits = in_float(random_points(ways, count, 14));
    std::vector<double> scratch(ways * 16);
    std::vector<double> of_label(logits.stride());
    std::vector<double> log_sums(logits.stride());
    std::vector<double> totals(ways);
    const std::size_t label = ways / 2;
    kernels_->sample_residuals({.logits = logits.row(0),
                                .ways = ways,
                                .stride = logits.stride(),
                                .count = count,
                                .shifts = shifts.row(0),
                                .label = label,
                                .scratch = scratch.data(),
                                .of_label = of_label.data(),
                                .log_sums = log_sums.data(),
                                .totals = totals.data()});
    std::vector<double> expected_totals(ways);
    for (std::size_t i = 0; i < count; ++i) {
      const auto logit = [&](std::size_t k) {
        return static_cast<double>(before.row(k)[i]) + shifts.row(0)[k];
      };
      double sum = 0;
      for (std::size_t k = 0; k < ways; ++k) sum += std::exp(logit(k));
      EXPECT_EQ(of_label[i], logit(label));
      EXPECT_NEAR(log_sums[i], std::log(sum), 1e-13);
      for (std::size_t k = 0; k < ways; ++k) {
        const double residual = std::exp(logit(k)) / sum - (k == label ? 1 : 0);
        EXPECT_NEAR(static_cast<double>(logits.row(k)[i]), residual, 1e-7);
        expected_totals[k] += residual;
      }
    }
    for (std::size_t k = 0; k < ways; ++k) {
      EXPECT_NEAR(totals[k], expected_totals[k], 1e-12);
      for (std::size_t i = count; i < logits.stride(); ++i) EXPECT_EQ(logits.row(k)[i], 0);
    }
  }
}

}  // namespace
}  // namespace deepvoro::kernels
