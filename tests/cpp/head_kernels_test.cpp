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

void run(const HeadTable& kernels, const LogisticMove<float>& task) {
  kernels.logistic_move_float(task);
}
void run(const HeadTable& kernels, const LogisticMove<double>& task) {
  kernels.logistic_move_double(task);
}
void run(const HeadTable& kernels, const Logits<float>& task) {
  kernels.logits_float(task);
}
void run(const HeadTable& kernels, const Logits<double>& task) {
  kernels.logits_double(task);
}
void run(const HeadTable& kernels, const BatchResiduals<float>& task) {
  kernels.batch_residuals_float(task);
}
void run(const HeadTable& kernels, const BatchResiduals<double>& task) {
  kernels.batch_residuals_double(task);
}

// Rows and parameters in the blocks that the kernels of logistic regression take, made from a seed.
template <class Real>
struct LogisticData {
  LogisticData(std::size_t way_count, std::size_t count, std::size_t length, std::uint32_t seed)
      : ways(way_count),
        row_count(count),
        dim(length),
        blocks(padded(dim) / 16),
        rows(row_count * padded(dim)),
        parameters(ways * 3 * padded(dim)) {
    const Matrix<double> of_rows = random_points(row_count, dim, seed);
    const Matrix<double> of_ways = random_points(3 * ways, dim, seed + 1);
    for (std::size_t i = 0; i < dim; ++i) {
      for (std::size_t r = 0; r < row_count; ++r) row(r, i) = static_cast<Real>(of_rows.row(r)[i]);
      for (std::size_t k = 0; k < ways; ++k)
        for (std::size_t part = 0; part < 3; ++part)
          at(k, part, i) = static_cast<Real>(part == 2 ? std::abs(of_ways.row(3 * k + part)[i])
                                                       : of_ways.row(3 * k + part)[i]);
    }
  }
  Real& row(std::size_t r, std::size_t i) { return rows[(i / 16 * row_count + r) * 16 + i % 16]; }
  // Part 0: the value, 1: its mean, 2: its square.
  Real& at(std::size_t k, std::size_t part, std::size_t i) {
    return parameters[((k * blocks + i / 16) * 3 + part) * 16 + i % 16];
  }
  double wide(std::size_t k, std::size_t part, std::size_t i) {
    return static_cast<double>(at(k, part, i));
  }
  double dot(std::size_t k, std::size_t r) {
    double sum = 0;
    for (std::size_t i = 0; i < dim; ++i) sum += wide(k, 0, i) * static_cast<double>(row(r, i));
    return sum;
  }

  std::size_t ways, row_count, dim, blocks;
  std::vector<Real> rows, parameters;
};

// One matrix of residuals [ways x 16], whose columns add up to 0 where they are to be balanced.
template <class Real>
std::vector<Real> residuals_of(std::size_t ways, bool balanced) {
  const Matrix<double> random = random_points(ways, 16, 9);
  std::vector<Real> residuals(ways * 16);
  for (std::size_t r = 0; r < 16; ++r) {
    Real rest = 0;
    for (std::size_t k = 0; k < ways; ++k) {
      residuals[k * 16 + r] =
          balanced && k + 1 == ways ? rest : static_cast<Real>(random.row(k)[r]);
      rest -= residuals[k * 16 + r];
    }
  }
  return residuals;
}

constexpr std::size_t kLogisticDims[] = {1, 15, 16, 17, 33, 64, 100};

template <class Real>
void expect_plain_moves(const HeadTable& kernels, double tolerance) {
  for (std::size_t ways = 1; ways <= 7; ++ways)
    for (const std::size_t dim : kLogisticDims)
      for (const std::size_t rows : {1U, 2U, 5U, 9U})
        for (const bool balanced : {false, true}) {
          LogisticData<Real> data(ways, rows, dim, 4);
          LogisticData<Real> before = data;
          const std::vector<Real> residuals = residuals_of<Real>(ways, balanced);
          const std::vector<Real> pull{Real(0.5), Real(-0.25), 0, 1, Real(0.1), 2, Real(-1)};
          const AdamStep step{.root_scale = 1.7, .epsilon = 1e-3};
          run(kernels, LogisticMove<Real>{.adam = step,
                                          .ways = ways,
                                          .blocks = data.blocks,
                                          .rows = data.rows.data(),
                                          .row_count = rows,
                                          .residuals = residuals.data(),
                                          .residual_stride = 16,
                                          .balanced = balanced,
                                          .pull = pull.data(),
                                          .parameters = data.parameters.data()});
          for (std::size_t k = 0; k < ways; ++k)
            for (std::size_t i = 0; i < dim; ++i) {
              double gradient = static_cast<double>(pull[k]) * before.wide(k, 0, i);
              for (std::size_t r = 0; r < rows; ++r)
                gradient += static_cast<double>(residuals[k * 16 + r]) *
                            static_cast<double>(data.row(r, i));
              const double mean = 0.9 * before.wide(k, 1, i) + gradient;
              const double square = 0.999 * before.wide(k, 2, i) + gradient * gradient;
              const double value = before.wide(k, 0, i) - mean / (std::sqrt(square) * 1.7 + 1e-3);
              const double size = 1 + square;
              ASSERT_NEAR(data.wide(k, 1, i), mean, tolerance * size);
              ASSERT_NEAR(data.wide(k, 2, i), square, tolerance * size);
              // A gradient near 0 beside a small square makes much of its rounding.
              ASSERT_NEAR(data.wide(k, 0, i), value,
                          tolerance * size * (1 + 1 / std::sqrt(square)));
            }
        }
}

TEST_P(HeadKernelTest, LogisticMoveAgreesWithAPlainLoop) {
  expect_plain_moves<double>(*kernels_, 1e-13);
  expect_plain_moves<float>(*kernels_, 1e-5);
}

TEST_P(HeadKernelTest, ParametersWithoutAGradientStay) {
  LogisticData<float> data(3, 2, 20, 4);
  for (float& row : data.rows) row = 0;
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t i = 0; i < 20; ++i) data.at(k, 1, i) = data.at(k, 2, i) = 0;
  const std::vector<float> before = data.parameters;
  const std::vector<float> residuals = residuals_of<float>(3, true);
  const float pull[3] = {};
  run(*kernels_, LogisticMove<float>{.ways = 3,
                                     .blocks = data.blocks,
                                     .rows = data.rows.data(),
                                     .row_count = 2,
                                     .residuals = residuals.data(),
                                     .residual_stride = 16,
                                     .balanced = true,
                                     .pull = pull,
                                     .parameters = data.parameters.data()});
  EXPECT_EQ(data.parameters, before);
}

template <class Real>
void expect_plain_logits(const HeadTable& kernels, double tolerance) {
  for (std::size_t ways = 1; ways <= 7; ++ways)
    for (const std::size_t dim : kLogisticDims)
      for (std::size_t rows = 1; rows <= 11; ++rows)
        for (const bool relative : {false, true}) {
          LogisticData<Real> data(ways, rows, dim, 6);
          std::vector<Real> logits(ways * 16, Real(7));
          std::vector<Real> norms(ways);
          run(kernels, Logits<Real>{.ways = ways,
                                    .blocks = data.blocks,
                                    .rows = data.rows.data(),
                                    .row_count = rows,
                                    .parameters = data.parameters.data(),
                                    .relative = relative,
                                    .logits = logits.data(),
                                    .stride = 16,
                                    .norms = rows % 2 == 0 ? norms.data() : nullptr});
          for (std::size_t k = 0; k < ways; ++k) {
            for (std::size_t r = 0; r < rows; ++r)
              ASSERT_NEAR(static_cast<double>(logits[k * 16 + r]),
                          data.dot(k, r) - (relative ? data.dot(ways - 1, r) : 0),
                          tolerance * static_cast<double>(dim));
            for (std::size_t r = rows; r < 16; ++r) ASSERT_EQ(logits[k * 16 + r], Real(7));
            double norm = 0;
            for (std::size_t i = 0; i < dim; ++i) norm += data.wide(k, 0, i) * data.wide(k, 0, i);
            ASSERT_NEAR(static_cast<double>(norms[k]), rows % 2 == 0 ? norm : 0,
                        tolerance * static_cast<double>(dim));
          }
        }
}

TEST_P(HeadKernelTest, LogitsAgreeWithAPlainLoop) {
  expect_plain_logits<double>(*kernels_, 1e-14);
  expect_plain_logits<float>(*kernels_, 3e-6);
}

template <class Real>
void expect_plain_residuals(const HeadTable& kernels, double tolerance) {
  for (std::size_t ways = 1; ways <= 7; ++ways)
    for (const std::size_t count : {1U, 5U, 7U, 8U, 9U, 16U, 17U, 25U, 64U}) {
      const std::size_t stride = padded(count);
      Matrix<double> random = random_points(ways, count, 3);
      random.row(0)[0] += 900;
      std::vector<Real> logits(ways * stride);
      std::vector<double> biases(ways);
      std::vector<std::size_t> labels(stride, ways);
      for (std::size_t k = 0; k < ways; ++k) {
        biases[k] = 0.3 * static_cast<double>(k);
        for (std::size_t r = 0; r < count; ++r)
          logits[k * stride + r] = static_cast<Real>(random.row(k)[r]);
      }
      for (std::size_t r = 0; r < count; ++r) labels[r] = (r * r + 1) % ways;
      std::vector<Real> residuals(ways * stride, Real(7));
      std::vector<double> totals(ways);
      std::vector<double> scratch((ways + 1) * stride);
      run(kernels, BatchResiduals<Real>{.logits = logits.data(),
                                        .ways = ways,
                                        .stride = stride,
                                        .count = count,
                                        .biases = biases.data(),
                                        .labels = labels.data(),
                                        .residuals = residuals.data(),
                                        .totals = totals.data(),
                                        .scratch = scratch.data()});
      std::vector<long double> expected_totals(ways);
      for (std::size_t r = 0; r < count; ++r) {
        const auto exponential = [&](std::size_t k) {
          return std::exp(static_cast<long double>(logits[k * stride + r]) + biases[k]);
        };
        long double sum = 0;
        for (std::size_t k = 0; k < ways; ++k) sum += exponential(k);
        for (std::size_t k = 0; k < ways; ++k) {
          const long double expected =
              (exponential(k) / sum - (labels[r] == k ? 1 : 0)) / static_cast<long double>(count);
          ASSERT_NEAR(static_cast<double>(residuals[k * stride + r]), static_cast<double>(expected),
                      tolerance);
          expected_totals[k] += expected;
        }
      }
      for (std::size_t k = 0; k < ways; ++k)
        for (std::size_t r = count; r < (count + 7) / 8 * 8; ++r)
          ASSERT_EQ(residuals[k * stride + r], Real(0));
      for (std::size_t k = 0; k < ways; ++k)
        ASSERT_NEAR(totals[k], static_cast<double>(expected_totals[k]), 1e-14);
    }
}

TEST_P(HeadKernelTest, BatchResidualsAgreeWithAPlainLoopAndSurviveLargeLogits) {
  expect_plain_residuals<double>(*kernels_, 1e-15);
  expect_plain_residuals<float>(*kernels_, 1e-7);
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

// Some steps of logistic regression, whose every logit and parameter goes to `out`.
template <class Real>
void add_logistic_steps(const HeadTable& kernels, std::vector<double>& out) {
  for (const std::size_t ways : {2U, 5U, 7U})
    for (const std::size_t rows : {1U, 5U, 7U, 13U})
      for (const bool short_cut : {false, true}) {
        LogisticData<Real> data(ways, rows, 150, 4);
        std::vector<Real> logits(ways * 16);
        std::vector<Real> residuals(ways * 16);
        std::vector<Real> norms(ways);
        std::vector<double> biases(ways, 0.1);
        std::vector<double> totals(ways);
        std::vector<double> scratch((ways + 1) * 16);
        std::vector<std::size_t> labels(16, ways);
        for (std::size_t r = 0; r < rows; ++r) labels[r] = r % ways;
        for (int step = 0; step < 3; ++step) {
          run(kernels, Logits<Real>{.ways = ways,
                                    .blocks = data.blocks,
                                    .rows = data.rows.data(),
                                    .row_count = rows,
                                    .parameters = data.parameters.data(),
                                    .relative = short_cut,
                                    .logits = logits.data(),
                                    .stride = 16,
                                    .norms = norms.data()});
          run(kernels, BatchResiduals<Real>{.logits = logits.data(),
                                            .ways = ways,
                                            .stride = 16,
                                            .count = rows,
                                            .biases = biases.data(),
                                            .labels = labels.data(),
                                            .residuals = residuals.data(),
                                            .totals = totals.data(),
                                            .scratch = scratch.data()});
          run(kernels, LogisticMove<Real>{.adam = {.root_scale = 3, .epsilon = 1e-5},
                                          .ways = ways,
                                          .blocks = data.blocks,
                                          .rows = data.rows.data(),
                                          .row_count = rows,
                                          .residuals = residuals.data(),
                                          .residual_stride = 16,
                                          .balanced = short_cut,
                                          .pull = norms.data(),
                                          .parameters = data.parameters.data()});
          out.insert(out.end(), logits.begin(), logits.end());
          out.insert(out.end(), totals.begin(), totals.end());
        }
        out.insert(out.end(), data.parameters.begin(), data.parameters.end());
      }
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
  kernels.momentum_step({}, pointers, rows.row(5), 3, 0.3, rows.stride(), values.row(1),
                        means.row(1));
  const std::vector<double> moved = all_of(values);
  out.insert(out.end(), moved.begin(), moved.end());
  add_logistic_steps<float>(kernels, out);
  add_logistic_steps<double>(kernels, out);
  const Matrix<float> short_rows = rounded(rows);
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
