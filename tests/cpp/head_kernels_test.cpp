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

class HeadKernelTest : public ::testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (table(GetParam()) == nullptr) GTEST_SKIP() << "this processor has no " << name(GetParam());
    kernels_ = &head_table(GetParam());
  }
  const HeadTable* kernels_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Levels, HeadKernelTest,
                         ::testing::Values(Level::generic, Level::avx2, Level::avx512, Level::neon),
                         [](const auto& level) { return std::string(name(level.param)); });

std::vector<double> all_of(const Matrix<double>& matrix) {
  return {matrix.row(0), matrix.row(0) + matrix.rows() * matrix.stride()};
}

Matrix<float> rounded(const Matrix<double>& from) {
  Matrix<float> to(from.rows(), from.cols());
  for (std::size_t r = 0; r < from.rows(); ++r)
    for (std::size_t c = 0; c < from.cols(); ++c) to.row(r)[c] = static_cast<float>(from.row(r)[c]);
  return to;
}

TEST_P(HeadKernelTest, DotsAgreeWithAPlainLoop) {
  for (const std::size_t length : {1U, 15U, 16U, 17U, 100U, 640U})
    for (std::size_t count = 1; count <= 11; ++count) {
      const Matrix<double> row = random_points(1, length, 1);
      const Matrix<double> others = random_points(count, length, 2);
      std::vector<double> out(count);
      kernels_->dots(row.row(0), others.row(0), others.stride(), count, others.stride(),
                     out.data());
      for (std::size_t c = 0; c < count; ++c) {
        long double expected = 0;
        long double size = 0;
        for (std::size_t i = 0; i < length; ++i) {
          const auto term = static_cast<long double>(row.row(0)[i]) * others.row(c)[i];
          expected += term;
          size += std::abs(term);
        }
        EXPECT_NEAR(out[c], static_cast<double>(expected), 1e-14 * static_cast<double>(size));
      }
    }
}

TEST_P(HeadKernelTest, SoftmaxAgreesWithAPlainLoopAndSurvivesLargeLogits) {
  for (std::size_t ways = 1; ways <= 7; ++ways) {
    Matrix<double> logits = random_points(ways, 20, 3);
    for (std::size_t i = 0; i < 20; ++i) logits.row(0)[i] += i < 3 ? 900 : 0;
    const Matrix<double> before = [&] {
      Matrix<double> copy(ways, 20);
      std::copy_n(logits.row(0), ways * logits.stride(), copy.row(0));
      return copy;
    }();
    std::vector<double> log_sums(logits.stride());
    kernels_->softmax(logits.row(0), ways, logits.stride(), log_sums.data());
    for (std::size_t i = 0; i < 20; ++i) {
      long double sum = 0;
      for (std::size_t k = 0; k < ways; ++k)
        sum += std::exp(static_cast<long double>(before.row(k)[i]));
      EXPECT_NEAR(log_sums[i], static_cast<double>(std::log(sum)), 1e-12);
      for (std::size_t k = 0; k < ways; ++k)
        EXPECT_NEAR(logits.row(k)[i],
                    static_cast<double>(std::exp(static_cast<long double>(before.row(k)[i])) / sum),
                    1e-14);
    }
  }
}

TEST_P(HeadKernelTest, AdamStepAgreesWithAPlainLoop) {
  constexpr std::size_t dim = 21;
  for (std::size_t ways = 1; ways <= 7; ++ways) {
    const Matrix<double> rows = random_points(3, dim, 4);
    const Matrix<double> weights = random_points(ways, 3, 5);
    const Matrix<double> pull = random_points(1, ways, 6);
    Matrix<double> values = random_points(ways, dim, 7);
    Matrix<double> means = random_points(ways, dim, 8);
    Matrix<double> squares(ways, dim);
    for (std::size_t i = 0; i < ways * squares.stride(); ++i) squares.row(0)[i] = 0.3;
    const std::vector<double> old_values = all_of(values);
    const std::vector<double> old_means = all_of(means);
    const AdamStep step{.rate = 0.05, .root_scale = 1.7};
    const double* pointers[] = {rows.row(0), rows.row(1), rows.row(2)};
    kernels_->adam_step_double(step, pointers, 3, weights.row(0), weights.stride(), pull.row(0),
                               ways, values.stride(), values.row(0), means.row(0), squares.row(0));
    for (std::size_t k = 0; k < ways; ++k)
      for (std::size_t i = 0; i < dim; ++i) {
        const std::size_t at = k * values.stride() + i;
        double gradient = pull.row(0)[k] * old_values[at];
        for (std::size_t r = 0; r < 3; ++r) gradient += weights.row(k)[r] * rows.row(r)[i];
        const double mean = 0.9 * old_means[at] + 0.1 * gradient;
        const double square = 0.999 * 0.3 + 0.001 * gradient * gradient;
        EXPECT_NEAR(means.row(k)[i], mean, 1e-13);
        EXPECT_NEAR(squares.row(k)[i], square, 1e-13);
        EXPECT_NEAR(values.row(k)[i],
                    old_values[at] - 0.05 * mean / (std::sqrt(square) * 1.7 + 1e-8), 1e-13);
      }
  }
}

TEST_P(HeadKernelTest, MomentumStepAgreesWithAPlainLoop) {
  constexpr std::size_t dim = 35;
  const Matrix<double> rows = random_points(2, dim, 4);
  Matrix<double> values = random_points(1, dim, 5);
  Matrix<double> momentum = random_points(1, dim, 6);
  const std::vector<double> old_values = all_of(values);
  const std::vector<double> old_momentum = all_of(momentum);
  const double* pointers[] = {rows.row(0), rows.row(1)};
  const double weights[] = {0.7, -1.1};
  kernels_->momentum_step({.keep = 0.8, .take = 0.3, .rate = 0.05}, pointers, weights, 2, 0.4,
                          values.stride(), values.row(0), momentum.row(0));
  for (std::size_t i = 0; i < dim; ++i) {
    const double gradient = 0.4 * old_values[i] + 0.7 * rows.row(0)[i] - 1.1 * rows.row(1)[i];
    const double moved = 0.8 * old_momentum[i] + 0.3 * gradient;
    EXPECT_NEAR(momentum.row(0)[i], moved, 1e-14);
    EXPECT_NEAR(values.row(0)[i], old_values[i] - 0.05 * moved, 1e-14);
  }
}

TEST_P(HeadKernelTest, ProductsAgreeWithAPlainLoop) {
  for (std::size_t ways = 1; ways <= 11; ++ways)
    for (const std::size_t length : {5U, 16U, 40U, 100U}) {
      const Matrix<float> weights = rounded(random_points(9, ways, 1));
      const Matrix<float> rows = rounded(random_points(9, length, 2));
      Matrix<float> out(ways, length);
      for (std::size_t k = 0; k < ways; ++k)
        for (std::size_t i = 0; i < length; ++i) out.row(k)[i] = 0.5F;
      kernels_->add_products(weights.row(0), weights.stride(), ways, rows.row(0), 9, rows.stride(),
                             rows.stride(), out.row(0), out.stride());
      for (std::size_t k = 0; k < ways; ++k)
        for (std::size_t i = 0; i < length; ++i) {
          double expected = 0.5;
          for (std::size_t r = 0; r < 9; ++r)
            expected +=
                static_cast<double>(weights.row(r)[k]) * static_cast<double>(rows.row(r)[i]);
          EXPECT_NEAR(static_cast<double>(out.row(k)[i]), expected, 1e-5);
        }
    }
}

TEST_P(HeadKernelTest, NormalsHaveTheMomentsOfTheNormalDistribution) {
  constexpr std::size_t blocks = 4000;
  constexpr auto count = static_cast<double>(blocks * kNormalsPerBlock);
  std::vector<float> values(blocks * kNormalsPerBlock);
  kernels_->normals(11, 0, blocks, values.data());
  double moments[5] = {};
  double beyond_two = 0;
  double neighbours = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto x = static_cast<double>(values[i]);
    double power = 1;
    for (double& moment : moments) {
      moment += power / count;
      power *= x;
    }
    beyond_two += (std::abs(x) > 2 ? 1 : 0) / count;
    neighbours += x * static_cast<double>(values[(i + 16) % values.size()]) / count;
  }
  const double error = 1 / std::sqrt(count);  // of the mean
  EXPECT_NEAR(moments[1], 0, 4 * error);
  EXPECT_NEAR(moments[2], 1, 4 * std::sqrt(2.0) * error);
  EXPECT_NEAR(moments[3], 0, 4 * std::sqrt(15.0) * error);
  EXPECT_NEAR(moments[4], 3, 4 * std::sqrt(96.0) * error);
  EXPECT_NEAR(beyond_two, 0.0455003, 4 * 0.21 * error);
  EXPECT_NEAR(neighbours, 0, 4 * error);
}

TEST_P(HeadKernelTest, NormalsOfABlockDependOnKeyAndNumberAlone) {
  std::vector<float> three(3 * kNormalsPerBlock);
  std::vector<float> last(kNormalsPerBlock);
  std::vector<float> other_key(kNormalsPerBlock);
  kernels_->normals(5, 7, 3, three.data());
  kernels_->normals(5, 9, 1, last.data());
  kernels_->normals(6, 9, 1, other_key.data());
  EXPECT_EQ(std::vector<float>(three.end() - kNormalsPerBlock, three.end()), last);
  EXPECT_NE(last, other_key);
}

// Runs every kernel on the same numbers; the bits must be those of the generic level.
std::vector<double> everything(const HeadTable& kernels) {
  std::vector<double> out;
  const Matrix<double> rows = random_points(7, 100, 1);
  std::vector<double> dots(7);
  kernels.dots(rows.row(0), rows.row(0), rows.stride(), 7, rows.stride(), dots.data());
  out.insert(out.end(), dots.begin(), dots.end());
  Matrix<double> logits = random_points(7, 33, 2);
  std::vector<double> log_sums(logits.stride());
  kernels.softmax(logits.row(0), 7, logits.stride(), log_sums.data());
  const std::vector<double> probabilities = all_of(logits);
  out.insert(out.end(), probabilities.begin(), probabilities.end());
  out.insert(out.end(), log_sums.begin(), log_sums.end());
  const double* pointers[] = {rows.row(0), rows.row(1), rows.row(2)};
  Matrix<double> values = random_points(7, 100, 3);
  Matrix<double> means(7, 100);
  Matrix<double> squares(7, 100);
  kernels.adam_step_double({}, pointers, 3, rows.row(3), 5, rows.row(4), 7, values.stride(),
                           values.row(0), means.row(0), squares.row(0));
  kernels.momentum_step({}, pointers, rows.row(5), 3, 0.3, rows.stride(), values.row(1),
                        means.row(1));
  const std::vector<double> moved = all_of(values);
  out.insert(out.end(), moved.begin(), moved.end());
  const Matrix<float> short_rows = rounded(rows);
  const float* short_pointers[] = {short_rows.row(0), short_rows.row(1), short_rows.row(2)};
  Matrix<float> short_values = rounded(random_points(7, 100, 3));
  Matrix<float> short_means(7, 100);
  Matrix<float> short_squares(7, 100);
  kernels.adam_step_float({}, short_pointers, 3, short_rows.row(3), 5, short_rows.row(4), 7,
                          short_values.stride(), short_values.row(0), short_means.row(0),
                          short_squares.row(0));
  out.insert(out.end(), short_values.row(0), short_values.row(0) + 7 * short_values.stride());
  Matrix<float> products(7, 100);
  kernels.add_products(short_rows.row(0), 9, 7, short_rows.row(0), 7, short_rows.stride(),
                       short_rows.stride(), products.row(0), products.stride());
  out.insert(out.end(), products.row(0), products.row(0) + 7 * products.stride());
  Matrix<float> residuals = rounded(random_points(7, 33, 4));
  Matrix<double> of_samples(10, 112);
  kernels.sample_residuals({.logits = residuals.row(0),
                            .ways = 7,
                            .stride = residuals.stride(),
                            .count = 33,
                            .shifts = rows.row(6),
                            .label = 2,
                            .scratch = of_samples.row(0),
                            .of_label = of_samples.row(1),
                            .log_sums = of_samples.row(2),
                            .totals = of_samples.row(3)});
  kernels.add_multiple(0.3, rows.row(0), 100, of_samples.row(4));
  kernels.row_sums(rows.row(0), rows.stride(), 7, 100, of_samples.row(5));
  kernels.row_squares(rows.row(0), rows.stride(), 7, 100, of_samples.row(6));
  const std::vector<double> sums = all_of(of_samples);
  out.insert(out.end(), sums.begin(), sums.end());
  out.insert(out.end(), residuals.row(0), residuals.row(0) + 7 * residuals.stride());
  std::vector<float> norms(7);
  kernels.squared_norms(short_rows.row(0), short_rows.stride(), 7, short_rows.stride(),
                        norms.data());
  out.insert(out.end(), norms.begin(), norms.end());
  std::vector<float> normals(5 * kNormalsPerBlock);
  kernels.normals(3, 1, 5, normals.data());
  out.insert(out.end(), normals.begin(), normals.end());
  return out;
}

TEST_P(HeadKernelTest, GivesTheBitsOfTheGenericLevel) {
  EXPECT_EQ(everything(*kernels_), everything(head_table(Level::generic)));
}

}  // namespace
}  // namespace deepvoro::kernels
