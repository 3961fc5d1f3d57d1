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
#include "left_out_scores.hpp"
#include "point_logistic.hpp"
#include "point_space.hpp"
#include "relative_distances.hpp"

namespace deepvoro {
namespace {

// Another exponent or strength has to be better by this much, because it seldom is.
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

// All that leaving out samples tells.
struct Chosen {
  Calibration calibration;
  std::optional<double> likeness_deviation;  // nothing where thresholds are known
};

Chosen chosen_by_leaving_out(const ViewedSamples& support, const BackboneStatistics* statistics,
                             unsigned threads) {
  Chosen chosen;
  Calibration& best = chosen.calibration;
  best.left_out.resize(support.labels.size());
  double cost_of_usual = 0;
  double least_cost = 0;
  for (const double exponent : kPointExponents) {
    const LeftOut left_out = leave_out(support, exponent, statistics, threads);
    for (const LeftOutScores& one : left_out.ways) {
      const bool is_usual = !best.ridge_vd;
      if (is_usual) cost_of_usual = one.cost;
      if (!is_usual && !(least_cost - one.cost > kLeastGain)) continue;
      least_cost = one.cost;
      best.ridge_vd = {.exponent = exponent,
                       .strength = one.strength,
                       .is_logistic = one.is_logistic,
                       .usual_variance = left_out.likeness.usual_variance(),
                       .gain = cost_of_usual - one.cost};
      best.temperature = one.temperature;
      chosen.likeness_deviation = left_out.likeness.deviation;
      for (std::size_t row = 0; row < left_out.samples.size(); ++row)
        best.left_out[left_out.samples[row]] = cell_of(one.scores.view()[row]);
    }
    if (left_out.samples.empty()) break;  // nothing speaks for the other one
  }
  return chosen;
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
                  .logistic = {},
                  .distances = distances.of({point.data(), plain.data()})};
    if (ridge) ridge->scores(point.data(), answer.ridge);
    means.squared_distances(point.data(), answer.nearness);
    answer.temperature = calibration.temperature;
    if (logistic) {
      answer.logistic.resize(means.classes());
      logistic->scores(point.data(), answer.logistic);
    } else {
      answer.temperature *= means.temperature_factor(answer.nearness);
    }
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
  std::optional<BalancedRidge> ridge;     // where there are several classes
  std::optional<PointLogistic> logistic;  // where it decides instead
};

std::vector<double> RidgeVoronoi::Answer::scores() const {
  if (!logistic.empty()) return logistic;
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
  Chosen chosen =
      known ? Chosen{*std::move(known), {}} : chosen_by_leaving_out(support, statistics, threads);
  Calibration& calibration = chosen.calibration;
  if (!calibration.ridge_vd) throw usage_error("the calibration is that of another method");
  const RidgeVoronoiChoice& choice = *calibration.ridge_vd;
  const Representation representation(choice.exponent);
  const Representation plain_representation(kPointExponents.front());
  PointSpace space(choice.exponent, statistics);
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
  RelativeDistances distances(labelled, plain, choice.usual_variance);
  if (chosen.likeness_deviation)
    calibration.thresholds =
        distances.thresholds(labelled, plain, *chosen.likeness_deviation, threads);
  std::optional<BalancedRidge> ridge;
  std::optional<PointLogistic> logistic;
  if (choice.is_logistic)
    logistic.emplace(labelled);
  else if (support.classes > 1)
    ridge.emplace(labelled, choice.strength, threads);
  state_ = std::make_shared<const State>(
      State{support.rows.size(), points.cols(), std::move(calibration), representation,
            plain_representation, std::move(space), std::move(plain_space), std::move(distances),
            std::move(ridge), std::move(logistic)});
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

std::vector<double> RidgeVoronoi::point_distances(std::span<const std::span<const float>> query,
                                                  MatrixView<const double> points) const {
  const std::vector<MatrixView<const float>> rows = as_rows(query);
  state_->check_views(rows);
  const std::vector<double> point = state_->point_of(rows, 0);
  std::vector<double> distances(points.rows());
  kernels::squared_distances(kernels::active(), point.data(), points.row(0), points.stride(),
                             points.rows(), points.stride(), distances.data());
  for (double& distance : distances) distance = std::sqrt(distance);
  return distances;
}

}  // namespace deepvoro
