#include "heads/logistic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "deepvoro/geometry/influence.hpp"
#include "geometry/diagram.hpp"
#include "head_tasks.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using testing::influence_of;
using testing::random_points;
using testing::unit_rows;

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

// Rows class by class; in each round comes one of every class that has so many.
PlainFit plain_logistic(const Matrix<double>& rows, const std::vector<std::size_t>& sizes,
                        LogisticKind kind, std::size_t epochs) {
  const std::size_t ways = sizes.size();
  const std::size_t dim = rows.cols();
  const bool tied = kind == LogisticKind::voronoi;
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < *std::ranges::max_element(sizes); ++s)
    for (std::size_t k = 0, first = 0; k < ways; first += sizes[k++])
      if (s < sizes[k]) order.push_back(first + s);
  std::vector<std::size_t> labels;
  for (std::size_t k = 0; k < ways; ++k) labels.insert(labels.end(), sizes[k], k);
  PlainFit fit{std::vector<double>(ways * dim), std::vector<double>(ways)};
  for (std::size_t r = 0; r < labels.size(); ++r)
    for (std::size_t d = 0; d < dim; ++d)
      fit.W[labels[r] * dim + d] += 2 * rows.row(r)[d] / static_cast<double>(sizes[labels[r]]);
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
        const auto row = rows.view()[order[i]];
        std::vector<double> p(ways);
        for (std::size_t k = 0; k < ways; ++k)
          p[k] = std::exp(std::inner_product(row.begin(), row.end(), &fit.W[k * dim], fit.b[k]));
        const double total = std::accumulate(p.begin(), p.end(), 0.0);
        for (std::size_t k = 0; k < ways; ++k) {
          const double residual =
              (p[k] / total - (labels[order[i]] == k ? 1 : 0)) / static_cast<double>(end - begin);
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
      LogisticHead head(GetParam(), 12);
      head.fit({.rows = rows.view(), .ways = 4, .shots = shots});
      const std::vector<std::size_t> sizes(4, shots);
      expect_plain_fit(head, plain_logistic(rows, sizes, GetParam(), 12), tolerance);
    }
}

TEST_P(LogisticTest, FitOfClassesOfUnequalSizeIsThatOfPlainAdam) {
  const std::vector<std::vector<std::size_t>> cases{
      {3, 1, 5}, {1, 4}, {2, 2, 1, 6}, {40, 1, 60}};  // the last in batches
  for (const auto& [dim, tolerance] : {kInDouble, kInFloat}) {
    LogisticHead head(GetParam(), 12);  // fitted again and again in the same memory
    for (const std::vector<std::size_t>& sizes : cases) {
      std::vector<std::size_t> begins{0};
      for (const std::size_t size : sizes) begins.push_back(begins.back() + size);
      const Matrix<double> rows = unit_rows(begins.back(), dim, 5);
      head.fit({.rows = rows.view(),
                .ways = sizes.size(),
                .shots = *std::ranges::max_element(sizes),
                .begins = begins});
      expect_plain_fit(head, plain_logistic(rows, sizes, GetParam(), 12), tolerance);
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
  const VoronoiDiagram<double> diagram(std::move(halved));
  const Matrix<double> queries = random_points(300, 7, 6);
  for (std::size_t q = 0; q < queries.rows(); ++q)
    EXPECT_EQ(cell_of(influence_of(head, queries.row(q), 5)), diagram.cell(queries.view()[q]));
}

}  // namespace
}  // namespace deepvoro
