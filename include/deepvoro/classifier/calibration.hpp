#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/core/matrix_view.hpp"

namespace deepvoro {

// How readily a query is taken for one of no class.
enum class Strictness { low, normal, high };

inline constexpr std::array kStrictnesses{Strictness::low, Strictness::normal, Strictness::high};

// What ridge-vd takes from its support (docs/METHODS.md).
struct RidgeVoronoiChoice {
  double exponent = 0;        // of points
  double strength = 0;        // of the ridge regression
  bool is_logistic = false;   // whether a logistic regression decides instead of both diagrams
  double usual_variance = 0;  // of samples around the mean of their class, before any are seen
  // By how much the logarithm of the likelihood of left-out samples is larger than that by both
  // diagrams with the usual exponent and strength.
  double gain = 0;

  bool operator==(const RidgeVoronoiChoice&) const = default;
};

// How influence becomes probability, and when a query belongs to none of the classes.
struct Calibration {
  double temperature = 1;
  // A query that is farther than this from every class is unknown; for each strictness.
  std::array<double, kStrictnesses.size()> thresholds = {};
  // Of each support sample the class that it is assigned to when it is left out; nothing where it
  // was not, as one that is alone in its class.
  std::vector<std::optional<std::size_t>> left_out;

  std::optional<RidgeVoronoiChoice> ridge_vd = {};  // of that method alone

  bool operator==(const Calibration&) const = default;

  [[nodiscard]] double threshold(Strictness strictness = Strictness::normal) const {
    return thresholds[static_cast<std::size_t>(strictness)];
  }
};

// Of samples that were left out, those of one class or of all.
struct LeftOutCount {
  std::size_t samples = 0;
  std::size_t correct = 0;
};
[[nodiscard]] DEEPVORO_API LeftOutCount count_left_out(const Calibration& calibration,
                                                       std::span<const std::size_t> labels,
                                                       std::optional<std::size_t> of_class = {});

// out[k] = exp(influence[k] / temperature) / sum over all classes of the same.
DEEPVORO_API void probabilities(std::span<const double> influence, double temperature,
                                std::span<double> out);

// Sum over rows of -log of the probability of the row's label.
[[nodiscard]] DEEPVORO_API double negative_log_likelihood(MatrixView<const double> influence,
                                                          std::span<const std::size_t> labels,
                                                          double temperature);

// A temperature that is thought likely before anything is measured. It counts as much as `weight`
// samples whose likelihood falls by a factor e^(1/2) when the temperature is e times too large.
struct TemperaturePrior {
  double temperature = 1;
  double weight = 0;
};

// Where a temperature is looked for.
struct TemperatureRange {
  double coolest = 0;
  double hottest = 0;
};

// The temperature that makes
//   negative_log_likelihood + weight/2 * log(temperature / prior)^2
// smallest, by golden section on its logarithm; within a factor of 100 of the prior's where no
// range is given.
[[nodiscard]] DEEPVORO_API double best_temperature(
    MatrixView<const double> influence, std::span<const std::size_t> labels,
    const TemperaturePrior& prior, const std::optional<TemperatureRange>& range = {});

// From the influence of every class on every support sample, each class as it is with the sample in
// it, and with `shots` samples of each class. Leaving a sample out of the n of its class moves the
// prototype to n/(n-1) of the distance, exactly; where the class has another center than the mean
// of its samples, `without` is the influence on each sample with it left out. Distance is minus
// influence.
[[nodiscard]] DEEPVORO_API Calibration
calibrate(MatrixView<const double> influence, std::span<const std::size_t> labels,
          std::span<const std::size_t> shots, std::optional<MatrixView<const double>> without = {});

}  // namespace deepvoro
