#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "deepvoro/core/export.hpp"
#include "deepvoro/core/matrix_view.hpp"

namespace deepvoro {

enum class CalibrationSource {
  leave_one_out,  // support samples, each against the classes without it
  distances,      // those between the classes alone, where no class has two samples
};

// How influence becomes probability, and when a query belongs to none of the classes.
struct Calibration {
  CalibrationSource source = CalibrationSource::distances;
  double temperature = 1;
  double threshold = 0;     // a query on which no class has more influence than this is unknown
  std::size_t samples = 0;  // that were left out, one at a time
  std::size_t correct = 0;  // of them, assigned to their class

  bool operator==(const Calibration&) const = default;
};

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

// The temperature within a factor of 100 of the prior's that makes
//   negative_log_likelihood + weight/2 * log(temperature / prior)^2
// smallest, by golden section on its logarithm.
[[nodiscard]] DEEPVORO_API double best_temperature(MatrixView<const double> influence,
                                                   std::span<const std::size_t> labels,
                                                   const TemperaturePrior& prior);

// From the influence of every class on every support sample, each class as it is with the sample in
// it, and with `shots` samples of each class. Leaving a sample out of the n of its class moves the
// prototype to n/(n-1) of the distance, exactly; where the class has another center than the mean
// of its samples, `without` is the influence on each sample with it left out.
[[nodiscard]] DEEPVORO_API Calibration
calibrate(MatrixView<const double> influence, std::span<const std::size_t> labels,
          std::span<const std::size_t> shots, std::optional<MatrixView<const double>> without = {});

}  // namespace deepvoro
