#include "left_out_scores.hpp"

#include <algorithm>
#include <utility>

#include "deepvoro/core/parallel.hpp"
#include "folds.hpp"
#include "heads/class_means.hpp"
#include "point_logistic.hpp"
#include "point_space.hpp"

namespace deepvoro {
namespace {

constexpr double kUsualTemperatureWeight = 8;
// With fewer samples in a class, a weak ridge regression would lose it beside larger ones.
constexpr std::size_t kFewestForOtherStrengths = 5;
// With fewer, logistic regression is seldom better, and it costs more.
constexpr std::size_t kFewestForLogistic = 20;

std::vector<LeftOutScores> ways_for(std::span<const std::size_t> labels, std::size_t classes,
                                    std::size_t samples) {
  std::vector<std::size_t> counts(classes);
  for (const std::size_t label : labels) ++counts[label];
  const std::size_t fewest = *std::ranges::min_element(counts);
  std::vector<LeftOutScores> ways;
  for (const double strength : kRidgeStrengths)
    if (ways.empty() || fewest >= kFewestForOtherStrengths)
      ways.push_back({.strength = strength, .scores = {samples, classes}});
  if (fewest >= kFewestForLogistic)
    ways.push_back({.is_logistic = true, .scores = {samples, classes}});
  return ways;
}

// Fills the rows of those that are left out in `fold`. Scores of diagrams are in units of the
// temperature's factor, so that one temperature suits them all.
void score(const Fold& fold, const LabelledPoints& all, const Matrix<double>& products,
           double usual_variance, std::span<LeftOutScores> ways) {
  std::vector<std::size_t> labels;
  std::vector<const double*> points;
  for (const std::size_t i : fold.in) {
    labels.push_back(all.labels[i]);
    points.push_back(all.points[i]);
  }
  const LabelledPoints in{points, labels, all.classes, all.dim};
  const ClassMeans means(in, usual_variance);
  std::vector<double> strengths;
  std::vector<MatrixView<double>> scores;
  for (LeftOutScores& way : ways) {
    if (way.is_logistic) {
      const PointLogistic logistic(in);
      for (const std::size_t i : fold.out) logistic.scores(all.points[i], way.scores.view()[i]);
      continue;
    }
    strengths.push_back(way.strength);
    scores.push_back(way.scores.view());
  }
  BalancedRidge::scores_by_products(products, fold.in, labels, all.classes, fold.out, strengths,
                                    scores);
  std::vector<double> distances(all.classes);
  for (const std::size_t i : fold.out) {
    means.squared_distances(all.points[i], distances);
    const double factor = means.temperature_factor(distances);
    for (const MatrixView<double>& of_strength : scores)
      for (std::size_t k = 0; k < all.classes; ++k)
        of_strength[i][k] = (of_strength[i][k] + means.nearness(k, distances[k])) / factor;
  }
}

ClassLikeness::Prior likeness_before(double exponent, const BackboneStatistics* statistics) {
  if (statistics == nullptr) return {};
  const auto place = std::ranges::find(kPointExponents, exponent) - kPointExponents.begin();
  const auto& measured = statistics->likeness_deviations[static_cast<std::size_t>(place)];
  if (!measured) return {};
  constexpr double pairs = 10;
  return {*measured, pairs};
}

}  // namespace

LeftOut leave_out(const LabelledPoints& support, const ClassLikeness::Prior& prior,
                  unsigned threads) {
  const std::vector<std::size_t> some = enough_samples(support.labels, support.classes);
  std::vector<const double*> points;
  std::vector<std::size_t> labels;
  for (const std::size_t i : some) {
    points.push_back(support.points[i]);
    labels.push_back(support.labels[i]);
  }
  const LabelledPoints all{points, labels, support.classes, support.dim};
  const Matrix<double> products = products_of(points, support.dim, threads);
  LeftOut result{.likeness = ClassLikeness::of(products, labels, support.classes, prior),
                 .samples = {},
                 .ways = {}};
  const auto usual_temperature = [&](double shots) {
    return result.likeness.usual_temperature(shots, support.classes);
  };
  const double usual = usual_temperature(mean_shots(support.labels, support.classes));
  const std::vector<Fold> folds = folds_of(labels, support.classes);
  if (folds.empty()) {
    result.ways.push_back({.scores = {}, .temperature = usual});
    return result;
  }

  result.ways = ways_for(support.labels, support.classes, some.size());
  parallel_for(threads, folds.size(), 1, [&](std::size_t f, std::size_t, unsigned) {
    score(folds[f], all, products, result.likeness.usual_variance(), result.ways);
  });
  std::vector<std::size_t> rows;
  for (const Fold& fold : folds) rows.insert(rows.end(), fold.out.begin(), fold.out.end());
  std::ranges::sort(rows);
  std::vector<std::size_t> truth;
  for (const std::size_t row : rows) {
    truth.push_back(labels[row]);
    result.samples.push_back(some[row]);
  }
  const double in_folds = usual_temperature(shots_in_folds(labels, support.classes));
  for (LeftOutScores& way : result.ways) {
    Matrix<double> left_out(rows.size(), support.classes);
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::copy_n(way.scores.row(rows[r]), support.classes, left_out.row(r));
    way.scores = std::move(left_out);
    const MatrixView<const double> scores = std::as_const(way.scores).view();
    if (way.is_logistic) {
      way.temperature = best_temperature(scores, truth, {1, kUsualTemperatureWeight});
      way.cost = negative_log_likelihood(scores, truth, best_temperature(scores, truth, {1, 0}));
      continue;
    }
    way.temperature =
        best_temperature(scores, truth, {in_folds, kUsualTemperatureWeight}, kTemperatureRange) *
        usual / in_folds;
    way.cost = negative_log_likelihood(
        scores, truth, best_temperature(scores, truth, {in_folds, 0}, kTemperatureRange));
  }
  return result;
}

LeftOut leave_out(const ViewedSamples& support, double exponent,
                  const BackboneStatistics* statistics, unsigned threads) {
  Matrix<double> points = represented(Representation(exponent), support.rows, threads);
  PointSpace(exponent, statistics).fit(points, support.labels, support.classes);
  const std::vector<const double*> pointers = pointers_to(points);
  return leave_out({pointers, support.labels, support.classes, points.cols()},
                   likeness_before(exponent, statistics), threads);
}

}  // namespace deepvoro
