#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "deepvoro/core/random.hpp"
#include "deepvoro/geometry/diagram.hpp"
#include "deepvoro/heads/base_statistics.hpp"
#include "deepvoro/heads/calibrated.hpp"
#include "deepvoro/heads/cluster_head.hpp"
#include "deepvoro/heads/cosine.hpp"
#include "deepvoro/heads/logistic.hpp"
#include "deepvoro/heads/nearest_mean.hpp"
#include "deepvoro/heads/preparation.hpp"
#include "expect_error.hpp"
#include "heads/lbfgs.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using testing::expect_error;
using testing::random_points;
using testing::random_split;
using testing::TemporaryFolder;

static_assert(Head<NearestMean>);
static_assert(Head<LogisticHead>);
static_assert(Head<ClusterHead>);
static_assert(Head<CosineHead>);
static_assert(Head<CalibratedHead>);

Matrix<double> unit_rows(std::size_t count, std::size_t dim, std::uint32_t seed) {
  Matrix<double> rows = random_points(count, dim, seed);
  for (std::size_t r = 0; r < count; ++r) {
    double squared = 0;
    for (const double x : rows.view()[r]) squared += x * x;
    for (double& x : rows.view()[r]) x /= std::sqrt(squared);
  }
  return rows;
}

std::vector<double> influence_of(const auto& head, const double* query, std::size_t ways) {
  std::vector<double> out(ways);
  head.influence(query, out);
  return out;
}

// Classes far apart, samples close to their class.
struct EasyTask {
  explicit EasyTask(std::uint32_t seed) : support(ways * shots, dim), queries(ways, dim) {
    const Matrix<double> noise = random_points(ways * (shots + 1), dim, seed);
    for (std::size_t k = 0; k < ways; ++k)
      for (std::size_t s = 0; s <= shots; ++s) {
        double* row = s < shots ? support.row(k * shots + s) : queries.row(k);
        for (std::size_t d = 0; d < dim; ++d)
          row[d] = (d % ways == k ? 1.0 : 0.1) + 0.02 * std::abs(noise.row(k * (shots + 1) + s)[d]);
      }
  }
  [[nodiscard]] Support view() const {
    return {.rows = support.view(), .ways = ways, .shots = shots, .stream = 3};
  }

  static constexpr std::size_t ways = 4, shots = 3, dim = 20;
  Matrix<double> support, queries;
};

class BaseStore {
 public:
  BaseStore() {
    testing::write_store(
        folder_.path(),
        {{"base", random_split({.classes = 6, .samples_per_class = 5, .dim = EasyTask::dim})}});
  }
  [[nodiscard]] FeatureStore open() const { return FeatureStore(folder_.path()); }

 private:
  TemporaryFolder folder_;
};

template <class MakeHead>
void expect_head_keeps_its_promises(const MakeHead& make) {
  const EasyTask task(1);
  const EasyTask other(2);
  auto head = make();
  head.fit(task.view());
  std::vector<std::vector<double>> first;
  for (std::size_t k = 0; k < EasyTask::ways; ++k) {
    first.push_back(influence_of(head, task.queries.row(k), EasyTask::ways));
    EXPECT_EQ(cell_of(first.back()), k);
  }
  head.fit(other.view());
  EXPECT_NE(influence_of(head, task.queries.row(0), EasyTask::ways), first[0]);
  head.fit(task.view());
  for (std::size_t k = 0; k < EasyTask::ways; ++k)
    EXPECT_EQ(influence_of(head, task.queries.row(k), EasyTask::ways), first[k])
        << "a fit depends on the one before";
}

TEST(Heads, AnswerEasyQuestionsAndForgetEarlierFits) {
  expect_head_keeps_its_promises([] { return NearestMean(); });
  expect_head_keeps_its_promises([] { return LogisticHead(LogisticKind::power); });
  expect_head_keeps_its_promises([] { return LogisticHead(LogisticKind::voronoi); });
  expect_head_keeps_its_promises(
      [] { return ClusterHead(LogisticHead(LogisticKind::voronoi), Influence(1)); });
  expect_head_keeps_its_promises([] { return CosineHead(); });
  const BaseStore base_store;
  const BaseStatistics base(base_store.open(), "s84_r0_f0", 1);
  expect_head_keeps_its_promises([&] { return CalibratedHead(base); });
}

// --- logistic regression ---------------------------------------------------------------------

struct LogisticTask {
  LogisticTask(std::size_t ways, std::size_t count, std::size_t dim)
      : rows(random_points(count, dim, 1)), W(random_points(ways, dim, 2)), b(ways) {
    for (std::size_t i = 0; i < count; ++i) {
      pointers.push_back(rows.row(i));
      labels.push_back(i % ways);
    }
    for (std::size_t k = 0; k < ways; ++k) b[k] = 0.1 * static_cast<double>(k);
  }
  double loss(LogisticKind kind) {
    return LogisticObjective<double>(kind).evaluate(pointers, labels, W.view(), b);
  }

  Matrix<double> rows, W;
  std::vector<double> b;
  std::vector<const double*> pointers;
  std::vector<std::size_t> labels;
};

class LogisticTest : public ::testing::TestWithParam<LogisticKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, LogisticTest,
                         ::testing::Values(LogisticKind::power, LogisticKind::voronoi),
                         [](const auto& kind) {
                           return kind.param == LogisticKind::power ? "power" : "voronoi";
                         });

TEST_P(LogisticTest, GradientIsThatOfTheLoss) {
  constexpr double step = 1e-5;
  LogisticTask task(3, 7, 5);
  LogisticObjective<double> objective(GetParam());
  objective.evaluate(task.pointers, task.labels, task.W.view(), task.b);
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t d = 0; d < 5; ++d) {
      double gradient = objective.pull()[k] * task.W.row(k)[d];
      for (std::size_t i = 0; i < 7; ++i)
        gradient += objective.residuals(k)[i] * task.rows.row(i)[d];
      const double middle = task.W.row(k)[d];
      task.W.row(k)[d] = middle + step;
      const double above = task.loss(GetParam());
      task.W.row(k)[d] = middle - step;
      const double below = task.loss(GetParam());
      task.W.row(k)[d] = middle;
      EXPECT_NEAR(gradient, (above - below) / (2 * step), 1e-8) << "W[" << k << "][" << d << "]";
    }
    if (GetParam() == LogisticKind::voronoi) continue;
    const double middle = task.b[k];
    task.b[k] = middle + step;
    const double above = task.loss(GetParam());
    task.b[k] = middle - step;
    const double below = task.loss(GetParam());
    task.b[k] = middle;
    EXPECT_NEAR(objective.bias_gradient()[k], (above - below) / (2 * step), 1e-8) << "b[" << k;
  }
}

// Adam written out, with gradients from plain sums over the rows of a batch.
struct PlainAdam {
  std::vector<double> mean, square;
  void step(std::size_t t, const std::vector<double>& gradient, std::vector<double>& values) {
    mean.resize(values.size());
    square.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      mean[i] = 0.9 * mean[i] + 0.1 * gradient[i];
      square[i] = 0.999 * square[i] + 0.001 * gradient[i] * gradient[i];
      const auto number = static_cast<double>(t);
      values[i] -= 0.01 * (mean[i] / (1 - std::pow(0.9, number))) /
                   (std::sqrt(square[i] / (1 - std::pow(0.999, number))) + 1e-8);
    }
  }
};

struct PlainFit {
  std::vector<double> W, b;
};

void tie(std::size_t ways, std::size_t dim, PlainFit& fit) {
  for (std::size_t k = 0; k < ways; ++k) {
    fit.b[k] = 0;
    for (std::size_t d = 0; d < dim; ++d) fit.b[k] -= fit.W[k * dim + d] * fit.W[k * dim + d] / 4;
  }
}

PlainFit plain_logistic(const Support& support, LogisticKind kind, std::size_t epochs) {
  const std::size_t ways = support.ways;
  const std::size_t dim = support.rows.cols();
  const bool tied = kind == LogisticKind::voronoi;
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < support.shots; ++s)
    for (std::size_t k = 0; k < ways; ++k) order.push_back(k * support.shots + s);
  PlainFit fit{std::vector<double>(ways * dim), std::vector<double>(ways)};
  for (std::size_t r = 0; r < support.rows.rows(); ++r)
    for (std::size_t d = 0; d < dim; ++d)
      fit.W[support.label(r) * dim + d] +=
          2 * support.rows[r][d] / static_cast<double>(support.shots);
  tie(ways, dim, fit);
  PlainAdam for_W;
  PlainAdam for_b;
  std::size_t t = 0;
  for (std::size_t epoch = 0; epoch < epochs; ++epoch)
    for (std::size_t begin = 0; begin < order.size(); begin += 64) {
      const std::size_t end = std::min(begin + 64, order.size());
      std::vector<double> gradient_W(fit.W.size());
      std::vector<double> gradient_b(ways);
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = support.rows[order[i]];
        std::vector<double> p(ways);
        for (std::size_t k = 0; k < ways; ++k)
          p[k] = std::exp(std::inner_product(row.begin(), row.end(), &fit.W[k * dim], fit.b[k]));
        const double total = std::accumulate(p.begin(), p.end(), 0.0);
        for (std::size_t k = 0; k < ways; ++k) {
          const double residual = (p[k] / total - (support.label(order[i]) == k ? 1 : 0)) /
                                  static_cast<double>(end - begin);
          gradient_b[k] += residual;
          for (std::size_t d = 0; d < dim; ++d)
            gradient_W[k * dim + d] += residual * (row[d] - (tied ? fit.W[k * dim + d] / 2 : 0));
        }
      }
      for_W.step(++t, gradient_W, fit.W);
      if (tied)
        tie(ways, dim, fit);
      else
        for_b.step(t, gradient_b, fit.b);
    }
  return fit;
}

TEST_P(LogisticTest, FitIsThatOfPlainAdam) {
  struct Case {
    std::size_t dim;
    double tolerance;
  };
  for (const auto& [dim, tolerance] : {Case{23, 1e-8}, Case{100, 1e-4}})  // double, then float32
    for (const std::size_t shots : {1U, 5U, 30U}) {                       // the last in batches
      const Matrix<double> rows = unit_rows(4 * shots, dim, 5);
      const Support support{.rows = rows.view(), .ways = 4, .shots = shots};
      LogisticHead head(GetParam(), 12);
      head.fit(support);
      const PlainFit plain = plain_logistic(support, GetParam(), 12);
      for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_NEAR(head.biases()[k], plain.b[k], tolerance);
        for (std::size_t d = 0; d < dim; ++d)
          EXPECT_NEAR(head.weights()[k][d], plain.W[k * dim + d], tolerance);
      }
    }
}

TEST(VoronoiLr, CellsAreThoseOfTheVoronoiDiagramOfItsHalvedRows) {
  const Matrix<double> rows = random_points(10, 7, 5);
  LogisticHead head(LogisticKind::voronoi);
  head.fit({.rows = rows.view(), .ways = 5, .shots = 2});
  Matrix<double> halved(5, 7);
  for (std::size_t k = 0; k < 5; ++k)
    for (std::size_t d = 0; d < 7; ++d) halved.row(k)[d] = head.weights()[k][d] / 2;
  const VoronoiDiagram diagram(halved.view());
  const Matrix<double> queries = random_points(300, 7, 6);
  for (std::size_t q = 0; q < queries.rows(); ++q)
    EXPECT_EQ(cell_of(influence_of(head, queries.row(q), 5)),
              assign(diagram, Point(queries.view()[q])));
}

TEST(DeepVoroMinusMinus, IsTheClusterInducedDiagramOfMeansAndHalvedRows) {
  const Matrix<double> rows = random_points(6, 9, 5);
  const Support support{.rows = rows.view(), .ways = 3, .shots = 2};
  for (const double alpha : {1.0, -2.0}) {
    ClusterHead head(LogisticHead(LogisticKind::power), Influence(alpha));
    head.fit(support);
    LogisticHead logistic(LogisticKind::power);
    logistic.fit(support);
    Matrix<double> means;
    class_means(support, means);
    std::vector<Matrix<double>> clusters;
    std::vector<MatrixView<const double>> views;
    for (std::size_t k = 0; k < 3; ++k) {
      clusters.emplace_back(2, 9);
      for (std::size_t d = 0; d < 9; ++d) {
        clusters[k].row(0)[d] = means.row(k)[d];
        clusters[k].row(1)[d] = logistic.weights()[k][d] / 2;
      }
    }
    for (const Matrix<double>& cluster : clusters) views.push_back(cluster.view());
    const ClusterInducedDiagram diagram(views, Influence(alpha));
    const Matrix<double> queries = random_points(20, 9, 6);
    for (std::size_t q = 0; q < queries.rows(); ++q) {
      std::vector<double> expected(3);
      diagram.influence(queries.view()[q], expected);
      const auto actual = influence_of(head, queries.row(q), 3);
      for (std::size_t k = 0; k < 3; ++k) EXPECT_DOUBLE_EQ(actual[k], expected[k]);
    }
  }
}

// --- the cosine classifier of S2M2 -----------------------------------------------------------

// Training of the vectors themselves, as PyTorch does it.
class PlainCosine {
 public:
  PlainCosine(const Support& support, std::size_t epochs)
      : support_(support), random_(support.stream) {
    const std::size_t dim = support.rows.cols();
    const double reach = 1 / std::sqrt(static_cast<double>(dim));
    v_.resize(support.ways, std::vector<double>(dim));
    for (auto& of_way : v_) {
      for (double& x : of_way) x = random_.uniform(-reach, reach);
      g_.push_back(norm(of_way));
    }
    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
      const auto order = random_.permutation(support.rows.rows());
      for (std::size_t begin = 0; begin < order.size(); begin += 4)
        step(std::span(order).subspan(begin, std::min<std::size_t>(4, order.size() - begin)));
    }
  }

  [[nodiscard]] double logit(std::size_t k, std::span<const double> x) const {
    return 2 * g_[k] / norm(v_[k]) * std::inner_product(x.begin(), x.end(), v_[k].begin(), 0.0);
  }

 private:
  static double norm(const std::vector<double>& v) {
    return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
  }

  void step(std::span<const std::size_t> batch) {
    const std::size_t dim = v_.front().size();
    std::vector<std::vector<double>> G(v_.size(), std::vector<double>(dim));  // dL/dw
    for (const std::size_t i : batch) {
      std::vector<double> p;
      for (std::size_t k = 0; k < v_.size(); ++k) p.push_back(std::exp(logit(k, support_.rows[i])));
      const double total = std::accumulate(p.begin(), p.end(), 0.0);
      for (std::size_t k = 0; k < v_.size(); ++k)
        for (std::size_t d = 0; d < dim; ++d)
          G[k][d] += 2 * (p[k] / total - (support_.label(i) == k ? 1 : 0)) /
                     static_cast<double>(batch.size()) * support_.rows[i][d];
    }
    const bool is_first = v_momentum_.empty();
    v_momentum_.resize(v_.size(), std::vector<double>(dim));
    g_momentum_.resize(v_.size());
    const double keep = is_first ? 0 : 0.9;
    const double take = is_first ? 1 : 0.1;
    for (std::size_t k = 0; k < v_.size(); ++k) {
      const double length = norm(v_[k]);
      const double G_v = std::inner_product(G[k].begin(), G[k].end(), v_[k].begin(), 0.0);
      for (std::size_t d = 0; d < dim; ++d) {
        const double gradient =
            g_[k] / length * (G[k][d] - G_v / (length * length) * v_[k][d]) + 0.001 * v_[k][d];
        v_momentum_[k][d] = keep * v_momentum_[k][d] + take * gradient;
      }
      g_momentum_[k] = keep * g_momentum_[k] + take * (G_v / length + 0.001 * g_[k]);
      for (std::size_t d = 0; d < dim; ++d) v_[k][d] -= 0.01 * v_momentum_[k][d];
      g_[k] -= 0.01 * g_momentum_[k];
    }
  }

  const Support& support_;
  LegacyRandom random_;
  std::vector<std::vector<double>> v_, v_momentum_;
  std::vector<double> g_, g_momentum_;
};

TEST(CosineHead, OnDotProductsIsTheSameAsOnVectors) {
  for (const std::size_t shots : {1U, 3U}) {
    const Matrix<double> rows = unit_rows(5 * shots, 40, 8);
    const Support support{.rows = rows.view(), .ways = 5, .shots = shots, .stream = 9};
    CosineHead head;
    head.fit(support);
    const PlainCosine plain(support, 300);
    const Matrix<double> queries = unit_rows(10, 40, 10);
    for (std::size_t q = 0; q < queries.rows(); ++q) {
      const auto logits = influence_of(head, queries.row(q), 5);
      for (std::size_t k = 0; k < 5; ++k)
        EXPECT_NEAR(logits[k], plain.logit(k, queries.view()[q]), 1e-10);
    }
  }
}

TEST(CosineHead, ZeroRowsAndMoreRowsThanDimensionsAreFine) {
  Matrix<double> rows = unit_rows(12, 5, 8);
  std::fill_n(rows.row(3), 5, 0.0);
  const Support support{.rows = rows.view(), .ways = 3, .shots = 4};
  CosineHead head({.epochs = 20});
  head.fit(support);
  const PlainCosine plain(support, 20);
  const auto logits = influence_of(head, rows.row(0), 3);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(logits[k], plain.logit(k, rows.view()[0]), 1e-10);
}

// --- distribution calibration ----------------------------------------------------------------

class CalibratedTest : public ::testing::Test {
 protected:
  static constexpr std::size_t dim = 12;

  CalibratedTest() {
    testing::write_store(
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

TEST(Lbfgs, FindsTheMinimumOfABentValley) {
  // Rosenbrock's function, twice.
  const auto valley = [](const double* x, double* gradient) {
    double value = 0;
    for (const std::size_t i : {0U, 2U}) {
      const double off = x[i + 1] - x[i] * x[i];
      value += 100 * off * off + (1 - x[i]) * (1 - x[i]);
      gradient[i] = -400 * off * x[i] - 2 * (1 - x[i]);
      gradient[i + 1] = 200 * off;
    }
    return value;
  };
  Lbfgs lbfgs(16, {.gradient_tolerance = 1e-8});
  Matrix<double> x(1, 16);
  x.row(0)[0] = -1.2;
  x.row(0)[1] = 1;
  x.row(0)[2] = 3;
  const auto outcome = lbfgs.minimise(
      valley, [](double*) {}, x.row(0));
  EXPECT_LE(outcome.largest_gradient, 1e-8);
  EXPECT_LT(outcome.iterations, 200);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(x.row(0)[i], 1, 1e-6);
}

TEST(Lbfgs, APreconditionerSavesIterationsAndLeavesTheMinimum) {
  const auto bowl = [](const double* x, double* gradient) {
    double value = 0;
    for (std::size_t i = 0; i < 16; ++i) {
      const double steepness = std::pow(4.0, static_cast<double>(i) / 2);
      const double off = x[i] - static_cast<double>(i);
      value += steepness * off * off / 2;
      gradient[i] = steepness * off;
    }
    return value;
  };
  const auto flatten = [](double* gradient) {
    for (std::size_t i = 0; i < 16; ++i) gradient[i] /= std::pow(4.0, static_cast<double>(i) / 2);
  };
  Lbfgs lbfgs(16, {});
  Matrix<double> plain(1, 16);
  Matrix<double> conditioned(1, 16);
  const auto without = lbfgs.minimise(
      bowl, [](double*) {}, plain.row(0));
  const auto with = lbfgs.minimise(bowl, flatten, conditioned.row(0));
  EXPECT_LT(with.iterations * 3, without.iterations);
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_NEAR(conditioned.row(0)[i], static_cast<double>(i), 1e-3);
}

// --- preparation -----------------------------------------------------------------------------

TEST(Preparation, FollowsItsOrder) {
  TemporaryFolder folder;
  testing::write_store(
      folder.path(),
      {{"novel",
        {.labels = {0, 0, 1}, .classes = {"a", "b"}, .views = {{"v", {{3, 4}, {0, 0}, {8, 6}}}}}}});
  const FeatureStore store(folder.path());
  std::vector<double> scratch(padded(2));
  const auto row = [&](const Preparation& preparation, std::size_t index) {
    const PreparedView rows(store, "novel", "v", preparation, 1);
    const double* from = rows.row(index, scratch.data());
    return std::vector<double>(from, from + 2);
  };
  EXPECT_EQ(row({}, 0), (std::vector<double>{3, 4}));
  EXPECT_EQ(row({.unit_last = true}, 2), (std::vector<double>{0.8, 0.6}));
  EXPECT_EQ(row({.unit_last = true}, 1), (std::vector<double>{0, 0}));
  EXPECT_EQ(row({.origin = {5, 2}, .unit_last = true}, 2), (std::vector<double>{0.6, 0.8}));
  EXPECT_EQ(row({.offset = 1, .square_root = true}, 2), (std::vector<double>{3, std::sqrt(7.0)}));
  EXPECT_EQ(row({.unit_first = true, .square_root = true}, 0),
            (std::vector<double>{std::sqrt(0.6), std::sqrt(0.8)}));
}

TEST(Preparation, ARootOfANegativeNumberIsAnErrorThatNamesItUnlessSigned) {
  TemporaryFolder folder;
  testing::write_store(
      folder.path(),
      {{"novel", {.labels = {0, 1}, .classes = {"a", "b"}, .views = {{"v", {{1, 4}, {9, -16}}}}}}});
  const FeatureStore store(folder.path());
  expect_error(ErrorKind::data, {"v.npy", "row 1", "column 1", "-16", "--signed"},
               [&] { (void)PreparedView(store, "novel", "v", {.square_root = true}, 2); });
  std::vector<double> scratch(padded(2));
  const PreparedView rows(store, "novel", "v", {.square_root = true, .is_signed = true}, 2);
  EXPECT_DOUBLE_EQ(rows.row(1, scratch.data())[0], 3);
  EXPECT_DOUBLE_EQ(rows.row(1, scratch.data())[1], -4);
}

TEST(BaseStatistics, AClassOfOneSampleHasNoCovariance) {
  TemporaryFolder folder;
  testing::write_store(folder.path(), {{"base",
                                        {.labels = {0, 0, 1},
                                         .classes = {"many", "single"},
                                         .views = {{"v", {{1, 4}, {9, 6}, {2, 3}}}}}}});
  expect_error(ErrorKind::data, {"single", "1 sample"},
               [&] { (void)BaseStatistics(FeatureStore(folder.path()), "v", 1); });
}

}  // namespace
}  // namespace deepvoro
