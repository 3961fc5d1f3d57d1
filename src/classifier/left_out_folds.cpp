#include "left_out_folds.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "deepvoro/core/parallel.hpp"
#include "heads/class_means.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kFolds = 5;
// More would cost much and sharpen the temperature no further.
constexpr std::size_t kMostSamples = 2000;
constexpr double kUsualTemperatureWeight = 8;

// The part of the temperature of one sample of each class that suits so many samples.
double cooled(double shots) {
  constexpr double of_many = 0.07;
  constexpr double of_few = 0.025;
  return (of_many + of_few / shots) / (of_many + of_few);
}

double harmonic_mean(std::span<const std::size_t> counts) {
  double sum = 0;
  for (const std::size_t count : counts) sum += 1 / static_cast<double>(count);
  return static_cast<double>(counts.size()) / sum;
}

std::vector<std::size_t> class_counts(std::span<const std::size_t> labels, std::size_t classes) {
  std::vector<std::size_t> counts(classes);
  for (const std::size_t label : labels) ++counts[label];
  return counts;
}

// The most samples of a class that can take part.
std::size_t most_per_class(std::span<const std::size_t> counts) {
  const auto together = [&](std::size_t most) {
    std::size_t sum = 0;
    for (const std::size_t count : counts) sum += std::min(count, most);
    return sum;
  };
  std::size_t most = *std::ranges::max_element(counts);
  while (most > 2 && together(most) > kMostSamples) --most;
  return most;
}

// Samples that take part, by class and in their order, from all parts of a class.
std::vector<std::size_t> samples_that_take_part(const LabelledPoints& support) {
  std::vector<std::vector<std::size_t>> by_class(support.classes);
  for (std::size_t i = 0; i < support.labels.size(); ++i) by_class[support.labels[i]].push_back(i);
  const std::size_t most = most_per_class(class_counts(support.labels, support.classes));
  std::vector<std::size_t> some;
  for (const auto& of_class : by_class) {
    const std::size_t count = std::min(most, of_class.size());
    for (std::size_t j = 0; j < count; ++j) some.push_back(of_class[j * of_class.size() / count]);
  }
  return some;
}

// Points that lie one after the other, class by class.
class Folds {
 public:
  Folds(const LabelledPoints& some, double usual_variance, unsigned threads)
      : some_(some),
        usual_variance_(usual_variance),
        products_(products_of(some.points, some.dim, threads)),
        counts_(class_counts(some.labels, some.classes)) {
    std::size_t number = 0;
    for (std::size_t i = 0; i < some.labels.size(); ++i) {
      number = i > 0 && some.labels[i] == some.labels[i - 1] ? number + 1 : 0;
      numbers_.push_back(number);
    }
  }

  [[nodiscard]] bool can_be_left_out(std::size_t i) const { return counts_[some_.labels[i]] > 1; }
  [[nodiscard]] std::span<const std::size_t> counts() const { return counts_; }

  // Fills the rows of those of one fold; out: [points x classes]
  void score(std::size_t fold, MatrixView<double> out) const {
    std::vector<std::size_t> in;
    std::vector<std::size_t> left_out;
    std::vector<std::size_t> labels;
    std::vector<const double*> points;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      if (numbers_[i] % kFolds == fold && can_be_left_out(i)) {
        left_out.push_back(i);
        continue;
      }
      in.push_back(i);
      labels.push_back(some_.labels[i]);
      points.push_back(some_.points[i]);
    }
    if (left_out.empty()) return;
    const ClassMeans means({points, labels, some_.classes, some_.dim}, usual_variance_);
    Matrix<double> ridge(left_out.size(), some_.classes);
    BalancedRidge::scores_by_products(products_, in, labels, some_.classes, left_out, ridge.view());
    std::vector<double> distances(some_.classes);
    for (std::size_t q = 0; q < left_out.size(); ++q) {
      means.squared_distances(some_.points[left_out[q]], distances);
      for (std::size_t k = 0; k < distances.size(); ++k)
        out[left_out[q]][k] = ridge.row(q)[k] + means.nearness(k, distances[k]);
    }
  }

 private:
  const LabelledPoints& some_;
  double usual_variance_;
  Matrix<double> products_;
  std::vector<std::size_t> counts_;
  std::vector<std::size_t> numbers_;  // of each point in its class
};

}  // namespace

LeftOutScores leave_out(const LabelledPoints& support, double usual_variance,
                        double usual_temperature, unsigned threads) {
  const double shots = harmonic_mean(class_counts(support.labels, support.classes));
  LeftOutScores result{
      .samples = {}, .scores = {}, .temperature = usual_temperature * cooled(shots)};
  if (support.classes < 2 || support.labels.size() == support.classes) return result;

  const std::vector<std::size_t> some = samples_that_take_part(support);
  std::vector<const double*> points;
  std::vector<std::size_t> labels;
  for (const std::size_t i : some) {
    points.push_back(support.points[i]);
    labels.push_back(support.labels[i]);
  }
  const LabelledPoints taking_part{points, labels, support.classes, support.dim};
  const Folds folds(taking_part, usual_variance, threads);
  Matrix<double> all(some.size(), support.classes);
  parallel_for(threads, kFolds, 1,
               [&](std::size_t fold, std::size_t, unsigned) { folds.score(fold, all.view()); });

  std::vector<std::size_t> truth;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < some.size(); ++i)
    if (folds.can_be_left_out(i)) {
      rows.push_back(i);
      truth.push_back(labels[i]);
      result.samples.push_back(some[i]);
    }
  result.scores = Matrix<double>(rows.size(), support.classes);
  for (std::size_t row = 0; row < rows.size(); ++row)
    std::copy_n(all.row(rows[row]), support.classes, result.scores.row(row));

  const auto most =
      static_cast<double>(std::min(kFolds, *std::ranges::max_element(folds.counts())));
  const double fewer = cooled(std::max(1.0, harmonic_mean(folds.counts()) * (1 - 1 / most)));
  const double usual = usual_temperature * fewer;
  const MatrixView<const double> scores = std::as_const(result.scores).view();
  result.temperature =
      best_temperature(scores, truth, {usual, kUsualTemperatureWeight}, kTemperatureRange) *
      cooled(shots) / fewer;
  result.cost = negative_log_likelihood(
      scores, truth, best_temperature(scores, truth, {usual, 0}, kTemperatureRange));
  return result;
}

}  // namespace deepvoro
