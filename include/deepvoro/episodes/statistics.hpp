#pragma once

#include <span>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

// A mean with its 95% interval, 1.96 * std / sqrt(n), std with ddof 0.
struct Estimate {
  double mean = 0;
  double ci95 = 0;
};

[[nodiscard]] DEEPVORO_API Estimate estimate(std::span<const double> values);

// Estimate of the mean of a[i] - b[i], for two methods on the same episodes.
[[nodiscard]] DEEPVORO_API Estimate paired_difference(std::span<const double> a,
                                                      std::span<const double> b);

}  // namespace deepvoro
