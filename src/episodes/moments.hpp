#pragma once

#include <span>

namespace deepvoro {

struct Moments {
  double mean = 0;
  double squares = 0;  // the sum of squared deviations from the mean
};

// Of at least one value.
[[nodiscard]] inline Moments moments(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, squares};
}

}  // namespace deepvoro
