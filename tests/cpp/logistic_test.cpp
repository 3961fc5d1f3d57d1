#include "heads/logistic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "deepvoro/geometry/influence.hpp"
#include "geometry/diagram.hpp"
#include "head_tasks.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::influence_of;
using test::random_points;
using test::unit_rows;

struct LogisticTask {
  LogisticTask(std::size_t ways, std::size_t count, std::size_t dim, const LogisticOptions& of_head)
      : options(of_head),
        objective(of_head),
        rows(random_points(count, dim, 1)),
        W(random_points(ways, dim, 2)),
        b(ways) {
    for (std::size_t i = 0; i < count; ++i) labels.push_back(i % ways);
    labels.resize(padded(count), ways);
    for (std::size_t k = 0; k < ways; ++k) b[k] = 0.1 * static_cast<double>(k);
    objective.resize(ways, count);
  }
  void fill_in_logits() {
    for (std::size_t k = 0; k < W.rows(); ++k) {
      const double* of_way = W.row(k);
      for (std::size_t i = 0; i < rows.rows(); ++i)
        objective.logits().row(k)[i] =
            std::inner_product(of_way, of_way + W.cols(), rows.row(i), 0.0);
      if (options.kind == LogisticKind::voronoi)
        b[k] = -std::inner_product(of_way, of_way + W.cols(), of_way, 0.0) / 4;
    }
  }
  // In plain sums, from the logits.
  double loss() {
    fill_in_logits();
    double loss = 0;
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      double sum = 0;
      double of_label = 0;
      for (std::size_t k = 0; k < W.rows(); ++k) {
        const double logit = objective.logits().row(k)[i] + b[k];
        const double term = std::exp(options.sigmoid ? 1 / (1 + std::exp(-logit)) : logit);
        sum += term;
        if (k == labels[i]) of_label = term;
      }
      loss -= std::log(of_label / sum) / static_cast<double>(rows.rows());
    }
    for (std::size_t k = 0; k < W.rows(); ++k) {
      for (std::size_t d = 0; d < W.cols(); ++d)
        loss += options.weight_decay / 2 * W.row(k)[d] * W.row(k)[d];
      if (options.kind == LogisticKind::power) loss += options.weight_decay / 2 * b[k] * b[k];
    }
    return loss;
  }

  LogisticOptions options;
  LogisticObjective<double> objective;
  Matrix<double> rows, W;
  std::vector<double> b;
  std::vector<std::size_t> labels;
};

std::vector<LogisticOptions> all_options() {
  std::vector<LogisticOptions> all;
  for (const LogisticKind kind : {LogisticKind::power, LogisticKind::voronoi})
    for (const double decay : {0.0, 0.05})
      for (const LogisticStart start : {LogisticStart::prototypes, LogisticStart::random})
        for (const bool sigmoid : {false, true})
          all.push_back({.kind = kind,
                         .epochs = 12,
                         .weight_decay = decay,
                         .start = start,
                         .sigmoid = sigmoid});
  return all;
}

class LogisticTest : public ::testing::TestWithParam<LogisticOptions> {};
INSTANTIATE_TEST_SUITE_P(Options, LogisticTest, ::testing::ValuesIn(all_options()),
                         [](const auto& tested) {
                           const LogisticOptions& options = tested.param;
                           return std::string(options.kind == LogisticKind::power ? "power"
                                                                                  : "voronoi") +
                                  (options.weight_decay > 0 ? "_decay" : "") +
                                  (options.start == LogisticStart::random ? "_random" : "") +
                                  (options.sigmoid ? "_sigmoid" : "");
                         });

TEST_P(LogisticTest, GradientIsThatOfTheLoss) {
  constexpr double step = 1e-5;
  LogisticTask task(3, 7, 5, GetParam());
  task.fill_in_logits();
  task.objective.differentiate(task.labels.data(), task.rows.rows(), task.b);
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t d = 0; d < 5; ++d) {
      double gradient = task.objective.pull()[k] * task.W.row(k)[d];
      for (std::size_t i = 0; i < 7; ++i)
        gradient += task.objective.residuals().row(k)[i] * task.rows.row(i)[d];
      const double middle = task.W.row(k)[d];
      task.W.row(k)[d] = middle + step;
      const double above = task.loss();
      task.W.row(k)[d] = middle - step;
      const double below = task.loss();
      task.W.row(k)[d] = middle;
      EXPECT_NEAR(gradient, (above - below) / (2 * step), 1e-8) << "W[" << k << "][" << d << "]";
    }
    if (GetParam().kind == LogisticKind::voronoi) continue;
    const double middle = task.b[k];
    task.b[k] = middle + step;
    const double above = task.loss();
    task.b[k] = middle - step;
    const double below = task.loss();
    task.b[k] = middle;
    EXPECT_NEAR(task.objective.bias_gradient()[k], (above - below) / (2 * step), 1e-8) << "b[" << k;
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

constexpr std::uint32_t kStream = 3;

// Rows class by class; in each round comes one of every class that has so many.
PlainFit plain_logistic(const Matrix<double>& rows, const std::vector<std::size_t>& sizes,
                        const LogisticOptions& options) {
  const std::size_t ways = sizes.size();
  const std::size_t dim = rows.cols();
  const bool tied = options.kind == LogisticKind::voronoi;
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < *std::ranges::max_element(sizes); ++s)
    for (std::size_t k = 0, first = 0; k < ways; first += sizes[k++])
      if (s < sizes[k]) order.push_back(first + s);
  std::vector<std::size_t> labels;
  for (std::size_t k = 0; k < ways; ++k) labels.insert(labels.end(), sizes[k], k);
  PlainFit fit{std::vector<double>(ways * dim), std::vector<double>(ways)};
  if (options.start == LogisticStart::random) {
    LegacyRandom random(kStream);
    const double reach = 1 / std::sqrt(static_cast<double>(dim));
    for (double& weight : fit.W) weight = random.uniform(-reach, reach);
    for (double& bias : fit.b) bias = random.uniform(-reach, reach);
  } else {
    for (std::size_t r = 0; r < labels.size(); ++r)
      for (std::size_t d = 0; d < dim; ++d)
        fit.W[labels[r] * dim + d] += 2 * rows.row(r)[d] / static_cast<double>(sizes[labels[r]]);
  }
  if (tied || options.start == LogisticStart::prototypes) tie(ways, dim, fit);
  PlainAdam for_W;
  PlainAdam for_b;
  std::size_t t = 0;
  for (std::size_t epoch = 0; epoch < options.epochs; ++epoch)
    for (std::size_t begin = 0; begin < order.size(); begin += 64) {
      const std::size_t end = std::min(begin + 64, order.size());
      std::vector<double> gradient_W(fit.W.size());
      std::vector<double> gradient_b(ways);
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = rows.view()[order[i]];
        std::vector<double> p(ways);
        std::vector<double> slope(ways, 1);
        for (std::size_t k = 0; k < ways; ++k) {
          double logit = std::inner_product(row.begin(), row.end(), &fit.W[k * dim], fit.b[k]);
          if (options.sigmoid) {
            logit = 1 / (1 + std::exp(-logit));
            slope[k] = logit * (1 - logit);
          }
          p[k] = std::exp(logit);
        }
        const double total = std::accumulate(p.begin(), p.end(), 0.0);
        for (std::size_t k = 0; k < ways; ++k) {
          const double residual = slope[k] * (p[k] / total - (labels[order[i]] == k ? 1 : 0)) /
                                  static_cast<double>(end - begin);
          gradient_b[k] += residual;
          for (std::size_t d = 0; d < dim; ++d)
            gradient_W[k * dim + d] += residual * (row[d] - (tied ? fit.W[k * dim + d] / 2 : 0));
        }
      }
      for (std::size_t i = 0; i < fit.W.size(); ++i)
        gradient_W[i] += options.weight_decay * fit.W[i];
      for (std::size_t k = 0; k < ways; ++k) gradient_b[k] += options.weight_decay * fit.b[k];
      for_W.step(++t, gradient_W, fit.W);
      if (tied)
        tie(ways, dim, fit);
      else
        for_b.step(t, gradient_b, fit.b);
    }
  return fit;
}

void expect_plain_fit(const LogisticHead& head, const PlainFit& plain, double tolerance) {
  const MatrixView<const double> W = head.weights();
  for (std::size_t k = 0; k < W.rows(); ++k) {
    EXPECT_NEAR(head.biases()[k], plain.b[k], tolerance);
    for (std::size_t d = 0; d < W.cols(); ++d)
      EXPECT_NEAR(W[k][d], plain.W[k * W.cols() + d], tolerance);
  }
}

struct Precision {
  std::size_t dim;
  double tolerance;
};
constexpr Precision kInDouble{23, 1e-8};
constexpr Precision kInFloat{100, 1e-4};

TEST_P(LogisticTest, FitIsThatOfPlainAdam) {
  for (const auto& [dim, tolerance] : {kInDouble, kInFloat})
    for (const std::size_t shots : {1U, 5U, 30U}) {  // the last in batches
      const Matrix<double> rows = unit_rows(4 * shots, dim, 5);
      LogisticHead head(GetParam());
      head.fit({.rows = rows.view(), .ways = 4, .shots = shots, .stream = kStream});
      const std::vector<std::size_t> sizes(4, shots);
      expect_plain_fit(head, plain_logistic(rows, sizes, GetParam()), tolerance);
    }
}

TEST_P(LogisticTest, FitOfClassesOfUnequalSizeIsThatOfPlainAdam) {
  const std::vector<std::vector<std::size_t>> cases{
      {3, 1, 5}, {1, 4}, {2, 2, 1, 6}, {40, 1, 60}};  // the last in batches
  for (const auto& [dim, tolerance] : {kInDouble, kInFloat}) {
    LogisticHead head(GetParam());  // fitted again and again in the same memory
    for (const std::vector<std::size_t>& sizes : cases) {
      std::vector<std::size_t> begins{0};
      for (const std::size_t size : sizes) begins.push_back(begins.back() + size);
      const Matrix<double> rows = unit_rows(begins.back(), dim, 5);
      head.fit({.rows = rows.view(),
                .ways = sizes.size(),
                .shots = *std::ranges::max_element(sizes),
                .stream = kStream,
                .begins = begins});
      expect_plain_fit(head, plain_logistic(rows, sizes, GetParam()), tolerance);
    }
  }
}

TEST(VoronoiLr, CellsAreThoseOfTheVoronoiDiagramOfItsHalvedRows) {
  const Matrix<double> rows = random_points(10, 7, 5);
  LogisticHead head({.kind = LogisticKind::voronoi});
  head.fit({.rows = rows.view(), .ways = 5, .shots = 2});
  Matrix<double> halved(5, 7);
  for (std::size_t k = 0; k < 5; ++k)
    for (std::size_t d = 0; d < 7; ++d) halved.row(k)[d] = head.weights()[k][d] / 2;
  const VoronoiDiagram<double> diagram(std::move(halved));
  const Matrix<double> queries = random_points(300, 7, 6);
  for (std::size_t q = 0; q < queries.rows(); ++q)
    EXPECT_EQ(cell_of(influence_of(head, queries.row(q), 5)), diagram.cell(queries.view()[q]));
}

}  // namespace
}  // namespace deepvoro
