#include "deepvoro/classifier/head_temperature.hpp"

#include <algorithm>
#include <utility>

#include "core/matrix.hpp"
#include "deepvoro/classifier/calibration.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/ensemble/fitted_head.hpp"
#include "folds.hpp"

namespace deepvoro {
namespace {

constexpr double kUsualWeight = 8;

// The usual temperature in units of how much larger the score of a row's class is than others'.
double usual_share(Method method) {
  constexpr double of_logits = 0.12;
  constexpr double of_distances = 0.08;
  return method == Method::power_lr || method == Method::voronoi_lr ? of_logits : of_distances;
}

Matrix<float> some_rows(MatrixView<const float> rows, std::span<const std::size_t> which) {
  Matrix<float> some(which.size(), rows.cols());
  for (std::size_t i = 0; i < which.size(); ++i) std::ranges::copy(rows[which[i]], some.row(i));
  return some;
}

std::vector<std::size_t> some_labels(std::span<const std::size_t> labels,
                                     std::span<const std::size_t> which) {
  std::vector<std::size_t> some;
  for (const std::size_t i : which) some.push_back(labels[i]);
  return some;
}

// By how much the score of a row's own class is larger than the mean of others'.
double mean_gap(MatrixView<const double> scores, std::span<const std::size_t> labels) {
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i)
    for (std::size_t k = 0; k < scores.cols(); ++k)
      if (k != labels[i]) sum += scores[i][labels[i]] - scores[i][k];
  return sum / static_cast<double>(labels.size() * (scores.cols() - 1));
}

}  // namespace

double head_temperature(const HeadConfiguration& configuration, MatrixView<const float> rows,
                        std::span<const std::size_t> labels, std::size_t classes,
                        const std::vector<double>& base_mean, unsigned threads) {
  if (classes < 2) return 1;
  const std::vector<std::size_t> enough = enough_samples(labels, classes);
  const Matrix<float> some = some_rows(rows, enough);
  const std::vector<std::size_t> of_some = some_labels(labels, enough);
  const auto scores_by = [&](std::span<const std::size_t> in, std::span<const std::size_t> asked) {
    const Matrix<float> support = some_rows(some.view(), in);
    const Matrix<float> queries = some_rows(some.view(), asked);
    const FittedHead head(configuration, support.view(), some_labels(of_some, in), classes,
                          base_mean);
    Matrix<double> scores(asked.size(), classes);
    head.influence(queries.view(), 1, scores.view());
    return scores;
  };
  std::vector<std::size_t> all(enough.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const Matrix<double> of_support = scores_by(all, all);
  const double usual = usual_share(configuration.method) * mean_gap(of_support.view(), of_some);
  if (!(usual > 0)) return 1;  // all classes are one point
  const std::vector<Fold> folds = folds_of(of_some, classes);
  if (folds.empty()) return usual;

  std::vector<Matrix<double>> by_fold(folds.size());
  parallel_for(threads, folds.size(), 1, [&](std::size_t f, std::size_t, unsigned) {
    by_fold[f] = scores_by(folds[f].in, folds[f].out);
  });
  std::vector<std::size_t> truth;
  for (const Fold& fold : folds)
    for (const std::size_t i : fold.out) truth.push_back(of_some[i]);
  Matrix<double> left_out(truth.size(), classes);
  std::size_t row = 0;
  for (const Matrix<double>& scores : by_fold)
    for (std::size_t i = 0; i < scores.rows(); ++i)
      std::copy_n(scores.row(i), classes, left_out.row(row++));
  return best_temperature(std::as_const(left_out).view(), truth, {usual, kUsualWeight});
}

}  // namespace deepvoro
