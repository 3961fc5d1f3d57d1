#include "measured_temperature.hpp"

#include <algorithm>
#include <utility>

#include "core/matrix.hpp"
#include "core/random.hpp"
#include "deepvoro/classifier/calibration.hpp"
#include "geometry/ridge.hpp"
#include "heads/class_means.hpp"
#include "left_out_folds.hpp"
#include "point_space.hpp"
#include "relative_distances.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kDraws = 40;
constexpr std::size_t kMostClasses = 10;
constexpr std::size_t kMostQueries = 5;

// One sample of each class, and some more to be classified.
struct Draw {
  std::vector<std::size_t> support;
  std::vector<std::size_t> queries;
  std::vector<std::size_t> truth;
};

Draw draw_of(const std::vector<std::vector<std::size_t>>& classes, std::size_t number) {
  LegacyRandom random(static_cast<std::uint32_t>(number));
  std::vector<std::size_t> order = random.permutation(classes.size());
  order.resize(std::min(order.size(), kMostClasses));
  Draw draw;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::vector<std::size_t>& samples = classes[order[k]];
    const std::vector<std::size_t> shuffled = random.permutation(samples.size());
    draw.support.push_back(samples[shuffled.front()]);
    for (std::size_t i = 1; i < std::min(shuffled.size(), kMostQueries + 1); ++i) {
      draw.queries.push_back(samples[shuffled[i]]);
      draw.truth.push_back(k);
    }
  }
  return draw;
}

// Scores of the queries, [queries x classes], one after the other.
void append_scores(const RepresentedSamples& samples, const BackboneStatistics& statistics,
                   const Draw& draw, std::vector<double>& scores) {
  const std::size_t classes = draw.support.size();
  Matrix<double> points(classes, samples.dim);
  std::vector<std::size_t> labels;
  std::vector<const double*> pointers;
  for (std::size_t k = 0; k < classes; ++k) {
    samples.read(draw.support[k], points.row(k));
    pointers.push_back(points.row(k));
    labels.push_back(k);
  }
  PointSpace space(kPointExponents.front(), &statistics);
  space.fit(points, labels, classes);
  const LabelledPoints support{pointers, labels, classes, samples.dim};
  const ClassMeans means(support, kUsualVariance);
  const BalancedRidge ridge(support);
  std::vector<double> query(points.stride());
  std::vector<double> ridge_scores(classes);
  std::vector<double> distances(classes);
  for (const std::size_t sample : draw.queries) {
    samples.read(sample, query.data());
    space.place(query.data());
    ridge.scores(query.data(), ridge_scores);
    means.squared_distances(query.data(), distances);
    for (std::size_t k = 0; k < classes; ++k)
      scores.push_back(ridge_scores[k] + means.nearness(k, distances[k]));
  }
}

}  // namespace

double measured_temperature(const RepresentedSamples& samples,
                            const BackboneStatistics& statistics) {
  std::vector<std::vector<std::size_t>> classes;
  std::ranges::copy_if(samples.by_class, std::back_inserter(classes),
                       [](const auto& of_class) { return of_class.size() > 1; });
  if (classes.size() < 2) return kUsualTemperature;
  std::vector<double> scores;
  std::vector<std::size_t> truth;
  for (std::size_t number = 0; number < kDraws; ++number) {
    const Draw draw = draw_of(classes, number);
    append_scores(samples, statistics, draw, scores);
    truth.insert(truth.end(), draw.truth.begin(), draw.truth.end());
  }
  const MatrixView<const double> all(scores.data(), truth.size(), scores.size() / truth.size());
  return std::max(kUsualTemperature,
                  best_temperature(all, truth, {kUsualTemperature, 0}, kTemperatureRange));
}

}  // namespace deepvoro
