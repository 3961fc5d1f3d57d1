#pragma once

#include <span>

namespace deepvoro {

// A straight line through points by least squares.
struct LineFit {
  double slope = 0;
  double slope_ci95 = 0;  // 1.96 standard errors
  double r = 0;           // correlation; 0 where one of both does not vary
};

// x and y have the same length, three points or more for an interval.
[[nodiscard]] LineFit fit_line(std::span<const double> x, std::span<const double> y);

}  // namespace deepvoro
