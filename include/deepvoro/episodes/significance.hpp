#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

// How likely Student's t with so many degrees of freedom is at least as far from 0 as `t`: the
// regularised incomplete beta function I_x(n/2, 1/2) at x = n / (n + t^2).
[[nodiscard]] DEEPVORO_API double student_t_two_sided(double t, std::size_t degrees_of_freedom);

struct TTest {
  double t = 0;
  std::size_t degrees_of_freedom = 0;
  double p = 1;
};

// Two-sided t-test of paired differences against a mean of 0; nothing for fewer than two of them.
// Where all are equal, p is 1 if they are 0, and 0 (t infinite) if they are not.
[[nodiscard]] DEEPVORO_API std::optional<TTest> t_test(std::span<const double> differences);

struct SignTest {
  std::size_t positive = 0;
  std::size_t negative = 0;
  std::size_t ties = 0;  // left out of the test
  double p = 1;
};

// Two-sided exact binomial test whether positive and negative differences are equally likely.
[[nodiscard]] DEEPVORO_API SignTest sign_test(std::span<const double> differences);

}  // namespace deepvoro
