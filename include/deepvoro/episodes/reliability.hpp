#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "deepvoro/core/export.hpp"
#include "deepvoro/episodes/statistics.hpp"

namespace deepvoro {

// Answers in bins of equal width by their confidence: the mean over bins, weighted by answers, of
// the gap between mean confidence and share of right answers. The lower end of a bin is not in it.
[[nodiscard]] DEEPVORO_API double expected_calibration_error(std::span<const double> confidence,
                                                             std::span<const std::uint8_t> correct,
                                                             std::size_t bins = 15);

// How often one of `high` is above one of `low`; equal ones count half.
[[nodiscard]] DEEPVORO_API double area_under_roc(std::span<const double> high,
                                                 std::span<const double> low);

// What is to be measured of a method besides its accuracy.
struct ReliabilityRequest {
  bool calibration = false;
  bool open_set = false;
  std::uint32_t seed = 0;  // of the queries from outside

  [[nodiscard]] bool asks_for_something() const { return calibration || open_set; }
};

// How far the probabilities of a method can be trusted.
struct Reliability {
  struct Calibration {
    double error_percent = 0;          // expected calibration error, all queries together
    Estimate negative_log_likelihood;  // mean of a query
  };
  // Queries of classes outside the episode among those of its own.
  struct OpenSet {
    Estimate auroc_percent;
    double kept_percent = 0;   // of the queries of the episode, not taken for unknown
    double found_percent = 0;  // of the others, taken for unknown
  };
  std::optional<Calibration> calibration;
  std::optional<OpenSet> open_set;
};

}  // namespace deepvoro
