#include "deepvoro/episodes/significance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/whole_power.hpp"
#include "deepvoro/core/error.hpp"
#include "moments.hpp"

// Only additions, multiplications, divisions and square roots: the same bits on every machine,
// which the logarithms and gamma functions of C libraries do not promise.
namespace deepvoro {
namespace {

// 1 / B(n/2, 1/2), from B(n/2 + 1, 1/2) = B(n/2, 1/2) * n / (n + 1).
double inverse_beta_of_half(std::size_t n) {
  const bool odd = n % 2 == 1;
  double result = odd ? std::numbers::inv_pi : 0.5;
  for (std::size_t k = odd ? 1 : 2; k < n; k += 2)
    result *= static_cast<double>(k + 1) / static_cast<double>(k);
  return result;
}

// The continued fraction of I_x(a, b) by the method of Lentz; it converges quickly for
// x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  constexpr double precision = std::numeric_limits<double>::epsilon();
  constexpr int most_steps = 1'000'000;
  const auto away_from_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double value = d;
  const auto step = [&](double numerator) {
    d = 1 / away_from_zero(1 + numerator * d);
    c = away_from_zero(1 + numerator / c);
    value *= d * c;
    return std::abs(d * c - 1);
  };
  for (int i = 1; i <= most_steps; ++i) {
    const double m = i;
    step(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    if (step(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))) <= precision)
      return value;
  }
  throw internal_error("the continued fraction of the incomplete beta function did not converge");
}

// P(X <= k) of a binomial X of n fair trials, for k <= n/2. Probabilities are taken relative to
// the one in the middle, so that none of them overflows.
double fair_binomial_tail(std::size_t n, std::size_t k) {
  double relative = 1;
  double half = 0;
  double tail = 0;
  for (std::size_t i = n / 2;; --i) {
    half += relative;
    if (i <= k) tail += relative;
    if (i == 0) break;
    relative *= static_cast<double>(i) / static_cast<double>(n - i + 1);
  }
  const double all = n % 2 == 0 ? 2 * half - 1 : 2 * half;
  return tail / all;
}

}  // namespace

double student_t_two_sided(double t, std::size_t degrees_of_freedom) {
  if (degrees_of_freedom == 0) throw internal_error("Student's t needs a degree of freedom");
  const auto n = static_cast<double>(degrees_of_freedom);
  const double x = n / (n + t * t);
  const double rest = std::isinf(t * t) ? 1 : t * t / (n + t * t);
  const double a = n / 2;
  const double b = 0.5;
  const double front = whole_power(std::sqrt(x), degrees_of_freedom) * std::sqrt(rest) *
                       inverse_beta_of_half(degrees_of_freedom);
  const double p = x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                             : 1 - front * beta_fraction(b, a, rest) / b;
  return std::clamp(p, 0.0, 1.0);
}

std::optional<TTest> t_test(std::span<const double> differences) {
  if (differences.size() < 2) return {};
  const auto count = static_cast<double>(differences.size());
  const auto [mean, squares] = moments(differences);
  const std::size_t degrees = differences.size() - 1;
  const bool all_equal =
      std::ranges::adjacent_find(differences, std::ranges::not_equal_to{}) == differences.end();
  if (all_equal && mean == 0) return TTest{0, degrees, 1};
  const double deviation = all_equal ? 0 : std::sqrt(squares / static_cast<double>(degrees));
  const double t = mean / (deviation / std::sqrt(count));
  return TTest{t, degrees, student_t_two_sided(t, degrees)};
}

SignTest sign_test(std::span<const double> differences) {
  SignTest test;
  for (const double value : differences) {
    if (value > 0) ++test.positive;
    if (value < 0) ++test.negative;
    if (value == 0) ++test.ties;
  }
  const std::size_t trials = test.positive + test.negative;
  const std::size_t fewer = std::min(test.positive, test.negative);
  test.p = std::min(1.0, 2 * fair_binomial_tail(trials, fewer));
  return test;
}

}  // namespace deepvoro
