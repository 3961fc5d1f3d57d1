#include "deepvoro/classifier/ridge_voronoi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "core/matrix.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/geometry/influence.hpp"
#include "ensemble/viewed_samples.hpp"
#include "geometry/ridge.hpp"
#include "heads/class_means.hpp"
#include "kernels/kernels.hpp"
#include "left_out_folds.hpp"
#include "point_space.hpp"
#include "relative_distances.hpp"

namespace deepvoro {
namespace {

// The smaller exponent has to be better by this much, because it seldom is.
constexpr double kLeastGain = 1.5;

void check_support(const ViewedSamples& support, const BackboneStatistics* statistics) {
  check_samples(support);
  (void)class_sizes(support);
  const std::size_t dim = support.rows.front().cols();
  for (const MatrixView<const float>& view : support.rows)
    if (view.cols() != dim || dim == 0)
      throw usage_error("every view must have rows of the same length");
  if (statistics != nullptr && statistics->dim() != dim)
    throw data_error(fmt::format("the statistics are those of {} dimensions, but features have {}",
                                 statistics->dim(), dim));
}

std::vector<const double*> pointers_to(const Matrix<double>& points) {
  std::vector<const double*> pointers(points.rows());
  for (std::size_t i = 0; i < pointers.size(); ++i) pointers[i] = points.row(i);
  return pointers;
}

Calibration chosen_by_leaving_out(const ViewedSamples& support,
                                  const BackboneStatistics* statistics, unsigned threads) {
  Calibration best;
  best.left_out.resize(support.labels.size());
  double cost_of_usual = 0;
  for (const double exponent : kPointExponents) {
    Matrix<double> points = represented(Representation(exponent), support.rows, threads);
    PointSpace(exponent, statistics).fit(points, support.labels, support.classes);
    const std::vector<const double*> pointers = pointers_to(points);
    const LeftOutScores left_out =
        leave_out({pointers, support.labels, support.classes, points.cols()}, kUsualVariance,
                  statistics == nullptr ? kUsualTemperature : statistics->temperature, threads);
    const bool is_usual = exponent == kPointExponents.front();
    if (is_usual)
      cost_of_usual = left_out.cost;
    else
      best.gain_of_smaller_exponent = cost_of_usual - left_out.cost;
    if (!is_usual && !(best.gain_of_smaller_exponent > kLeastGain)) continue;
    best.exponent = exponent;
    best.temperature = left_out.temperature;
    for (std::size_t row = 0; row < left_out.samples.size(); ++row)
      best.left_out[left_out.samples[row]] = cell_of(left_out.scores.view()[row]);
    if (left_out.samples.empty()) break;  // nothing speaks for the other one
  }
  return best;
}

std::vector<MatrixView<const float>> as_rows(std::span<const std::span<const float>> query) {
  std::vector<MatrixView<const float>> rows;
  for (const std::span<const float> row : query) rows.emplace_back(row.data(), 1, row.size());
  return rows;
}

}  // namespace

struct RidgeVoronoi::State {
  void check_views(ViewRows rows) const {
    if (rows.size() != views)
      throw usage_error(fmt::format("queries need {} views, not {}", views, rows.size()));
    for (const MatrixView<const float>& view : rows)
      if (view.rows() != rows.front().rows() || view.cols() != dim)
        throw usage_error(
            fmt::format("every view of the queries must have {} features per row and the same "
                        "number of rows",
                        dim));
  }
  [[nodiscard]] std::vector<double> point_of(ViewRows samples, std::size_t row) const {
    std::vector<double> point = represented(representation, samples, row);
    space.place(point.data());
    return point;
  }
  [[nodiscard]] Answer answer(ViewRows queries, std::size_t row) const {
    const std::vector<double> point = point_of(queries, row);
    std::vector<double> plain = represented(plain_representation, queries, row);
    plain_space.place(plain.data(), dim);
    const ClassMeans& means = distances.means();
    Answer answer{.ridge = std::vector<double>(means.classes()),
                  .nearness = std::vector<double>(means.classes()),
                  .distances = distances.of({point.data(), plain.data()})};
    if (ridge) ridge->scores(point.data(), answer.ridge);
    means.squared_distances(point.data(), answer.nearness);
    for (std::size_t k = 0; k < means.classes(); ++k)
      answer.nearness[k] = means.nearness(k, answer.nearness[k]);
    return answer;
  }

  std::size_t views;
  std::size_t dim;
  Calibration calibration;
  Representation representation;
  Representation plain_representation;
  PointSpace space;
  PlainSpace plain_space;
  RelativeDistances distances;
  std::optional<BalancedRidge> ridge;  // where there are several classes
};

std::vector<double> RidgeVoronoi::Answer::scores() const {
  std::vector<double> sums(ridge.size());
  std::ranges::transform(ridge, nearness, sums.begin(), std::plus{});
  return sums;
}

double RidgeVoronoi::Answer::distance() const {
  return *std::ranges::min_element(distances);
}

RidgeVoronoi::RidgeVoronoi(const ViewedSamples& support, const BackboneStatistics* statistics,
                           unsigned threads, std::optional<Calibration> known) {
  check_support(support, statistics);
  const bool is_new = !known;
  Calibration calibration =
      is_new ? chosen_by_leaving_out(support, statistics, threads) : *std::move(known);
  const Representation representation(calibration.exponent);
  const Representation plain_representation(kPointExponents.front());
  PointSpace space(calibration.exponent, statistics);
  PlainSpace plain_space(statistics);
  Matrix<double> points = represented(representation, support.rows, threads);
  Matrix<double> plain_points = represented(plain_representation, support.rows, threads);
  space.fit(points, support.labels, support.classes);
  for (std::size_t i = 0; i < plain_points.rows(); ++i)
    plain_space.place(plain_points.row(i), plain_points.cols());
  const std::vector<const double*> pointers = pointers_to(points);
  const std::vector<const double*> plain_pointers = pointers_to(plain_points);
  const LabelledPoints labelled{pointers, support.labels, support.classes, points.cols()};
  const LabelledPoints plain{plain_pointers, support.labels, support.classes, points.cols()};
  RelativeDistances distances(labelled, plain);
  if (is_new) calibration.thresholds = distances.thresholds(labelled, plain, threads);
  std::optional<BalancedRidge> ridge;
  if (support.classes > 1) ridge.emplace(labelled, threads);
  state_ = std::make_shared<const State>(
      State{support.rows.size(), points.cols(), std::move(calibration), representation,
            plain_representation, std::move(space), std::move(plain_space), std::move(distances),
            std::move(ridge)});
}

std::size_t RidgeVoronoi::classes() const {
  return state_->distances.means().classes();
}
const Calibration& RidgeVoronoi::calibration() const {
  return state_->calibration;
}

RidgeVoronoi::Answer RidgeVoronoi::ask(std::span<const std::span<const float>> query) const {
  return std::move(ask(as_rows(query)).front());
}

std::vector<RidgeVoronoi::Answer> RidgeVoronoi::ask(
    std::span<const MatrixView<const float>> queries, unsigned threads) const {
  state_->check_views(queries);
  std::vector<Answer> answers(queries.front().rows());
  constexpr std::size_t rows_at_once = 8;
  parallel_for(
      threads, answers.size(), rows_at_once, [&](std::size_t begin, std::size_t end, unsigned) {
        for (std::size_t q = begin; q < end; ++q) {
          try {
            answers[q] = state_->answer(queries, q);
          } catch (const Error& error) {
            throw Error(error.kind(), fmt::format("row {}: {}", q, error.what()), error.code());
          }
        }
      });
  return answers;
}

std::vector<double> RidgeVoronoi::point_distances(
    std::span<const std::span<const float>> query,
    std::span<const MatrixView<const float>> samples) const {
  const std::vector<MatrixView<const float>> rows = as_rows(query);
  state_->check_views(rows);
  state_->check_views(samples);
  const std::vector<double> point = state_->point_of(rows, 0);
  std::vector<double> distances(samples.front().rows());
  for (std::size_t i = 0; i < distances.size(); ++i) {
    const std::vector<double> other = state_->point_of(samples, i);
    kernels::squared_distances(kernels::active(), point.data(), other.data(), other.size(), 1,
                               other.size(), &distances[i]);
    distances[i] = std::sqrt(distances[i]);
  }
  return distances;
}

}  // namespace deepvoro
