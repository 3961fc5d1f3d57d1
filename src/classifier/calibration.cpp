#include "deepvoro/classifier/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/geometry/influence.hpp"

namespace deepvoro {
namespace {

// What suits birds and sketches with one sample a class, as shares of distances between classes:
// the mean of all, and the mean of those to the nearest.
constexpr double kTemperatureShare = 0.08;
constexpr std::array kThresholdShares{0.95, 0.9, 0.85};
// Where between the mean distance of left-out samples and that of strangers a threshold lies.
constexpr std::array kThresholdPlaces{0.75, 0.5, 0.25};
// With fewer left-out samples than this, the prior has the larger say.
constexpr double kPriorWeight = 8;
constexpr double kWidestFactor = 100;

// log(sum_k exp(influence_k / temperature)) and the largest exponent, which is taken off first so
// that nothing overflows.
double log_sum(std::span<const double> influence, double temperature) {
  const double largest = *std::ranges::max_element(influence);
  double sum = 0;
  for (const double value : influence) sum += std::exp((value - largest) / temperature);
  return largest / temperature + std::log(sum);
}

class Mean {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  [[nodiscard]] double value() const { return sum_ / static_cast<double>(count_); }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

// How far support samples are from classes they do not belong to.
struct Strangers {
  Mean all;
  Mean nearest;
};

Strangers strangers(MatrixView<const double> influence, std::span<const std::size_t> labels) {
  Strangers found;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    double nearest = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < influence.cols(); ++k) {
      if (k == labels[i]) continue;
      found.all.add(influence[i][k]);
      nearest = std::max(nearest, influence[i][k]);
    }
    found.nearest.add(nearest);
  }
  return found;
}

}  // namespace

void probabilities(std::span<const double> influence, double temperature, std::span<double> out) {
  const double log_total = log_sum(influence, temperature);
  for (std::size_t k = 0; k < influence.size(); ++k)
    out[k] = std::exp(influence[k] / temperature - log_total);
}

double negative_log_likelihood(MatrixView<const double> influence,
                               std::span<const std::size_t> labels, double temperature) {
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i)
    sum += log_sum(influence[i], temperature) - influence[i][labels[i]] / temperature;
  return sum;
}

double best_temperature(MatrixView<const double> influence, std::span<const std::size_t> labels,
                        const TemperaturePrior& prior,
                        const std::optional<TemperatureRange>& range) {
  const auto cost = [&](double log_factor) {
    return negative_log_likelihood(influence, labels, prior.temperature * std::exp(log_factor)) +
           prior.weight / 2 * log_factor * log_factor;
  };
  const double golden = (std::sqrt(5.0) - 1) / 2;
  constexpr double precision = 1e-6;
  double low = range ? std::log(range->coolest / prior.temperature) : -std::log(kWidestFactor);
  double high = range ? std::log(range->hottest / prior.temperature) : -low;
  double left = high - golden * (high - low);
  double right = low + golden * (high - low);
  double cost_left = cost(left);
  double cost_right = cost(right);
  while (high - low > precision) {
    if (cost_left <= cost_right) {
      high = right;
      right = left;
      cost_right = cost_left;
      left = high - golden * (high - low);
      cost_left = cost(left);
    } else {
      low = left;
      left = right;
      cost_left = cost_right;
      right = low + golden * (high - low);
      cost_right = cost(right);
    }
  }
  return prior.temperature * std::exp((low + high) / 2);
}

LeftOutCount count_left_out(const Calibration& calibration, std::span<const std::size_t> labels,
                            std::optional<std::size_t> of_class) {
  LeftOutCount count;
  for (std::size_t i = 0; i < calibration.left_out.size(); ++i) {
    if (!calibration.left_out[i] || (of_class && labels[i] != *of_class)) continue;
    ++count.samples;
    if (*calibration.left_out[i] == labels[i]) ++count.correct;
  }
  return count;
}

Calibration calibrate(MatrixView<const double> influence, std::span<const std::size_t> labels,
                      std::span<const std::size_t> shots,
                      std::optional<MatrixView<const double>> measured_without) {
  Calibration result;
  result.left_out.resize(labels.size());
  if (shots.size() < 2) {  // there is nothing to be mistaken for
    result.thresholds.fill(std::numeric_limits<double>::max());
    return result;
  }
  const Strangers others = strangers(influence, labels);
  result.temperature = -others.all.value() * kTemperatureShare;
  if (!(result.temperature > 0)) result.temperature = 1;  // all classes are one point
  const double stranger = -others.nearest.value();
  for (std::size_t s = 0; s < result.thresholds.size(); ++s)
    result.thresholds[s] = stranger * kThresholdShares[s];

  std::vector<std::size_t> left_out;
  std::vector<std::size_t> left_out_labels;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (shots[labels[i]] > 1) {
      left_out.push_back(i);
      left_out_labels.push_back(labels[i]);
    }
  if (left_out.empty()) return result;

  Matrix<double> without(left_out.size(), influence.cols());
  Mean largest;
  for (std::size_t row = 0; row < left_out.size(); ++row) {
    const std::size_t label = left_out_labels[row];
    std::ranges::copy(measured_without.value_or(influence)[left_out[row]], without.row(row));
    if (!measured_without) {
      const auto n = static_cast<double>(shots[label]);
      without.row(row)[label] *= n / (n - 1);
    }
    const std::span<const double> values{without.row(row), influence.cols()};
    const std::size_t cell = cell_of(values);
    result.left_out[left_out[row]] = cell;
    largest.add(values[cell]);
  }
  result.temperature = best_temperature(std::as_const(without).view(), left_out_labels,
                                        {result.temperature, kPriorWeight});
  const double own = -largest.value();
  for (std::size_t s = 0; s < result.thresholds.size(); ++s)
    result.thresholds[s] = own + (stranger - own) * kThresholdPlaces[s];
  return result;
}

}  // namespace deepvoro
