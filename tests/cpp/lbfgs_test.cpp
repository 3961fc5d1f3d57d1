#include "heads/lbfgs.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/matrix.hpp"

namespace deepvoro {
namespace {

TEST(Lbfgs, FindsTheMinimumOfABentValley) {
  // Rosenbrock's function, twice.
  const auto valley = [](const double* x, double* gradient) {
    double value = 0;
    for (const std::size_t i : {0U, 2U}) {
      const double off = x[i + 1] - x[i] * x[i];
      value += 100 * off * off + (1 - x[i]) * (1 - x[i]);
      gradient[i] = -400 * off * x[i] - 2 * (1 - x[i]);
      gradient[i + 1] = 200 * off;
    }
    return value;
  };
  Lbfgs lbfgs(16, {.gradient_tolerance = 1e-8});
  Matrix<double> x(1, 16);
  x.row(0)[0] = -1.2;
  x.row(0)[1] = 1;
  x.row(0)[2] = 3;
  const auto outcome = lbfgs.minimise(
      valley, [](double*) {}, x.row(0));
  EXPECT_LE(outcome.largest_gradient, 1e-8);
  EXPECT_LT(outcome.iterations, 200);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(x.row(0)[i], 1, 1e-6);
}

TEST(Lbfgs, APreconditionerSavesIterationsAndLeavesTheMinimum) {
  const auto bowl = [](const double* x, double* gradient) {
    double value = 0;
    for (std::size_t i = 0; i < 16; ++i) {
      const double steepness = std::pow(4.0, static_cast<double>(i) / 2);
      const double off = x[i] - static_cast<double>(i);
      value += steepness * off * off / 2;
      gradient[i] = steepness * off;
    }
    return value;
  };
  const auto flatten = [](double* gradient) {
    for (std::size_t i = 0; i < 16; ++i) gradient[i] /= std::pow(4.0, static_cast<double>(i) / 2);
  };
  Lbfgs lbfgs(16, {});
  Matrix<double> plain(1, 16);
  Matrix<double> conditioned(1, 16);
  const auto without = lbfgs.minimise(
      bowl, [](double*) {}, plain.row(0));
  const auto with = lbfgs.minimise(bowl, flatten, conditioned.row(0));
  EXPECT_LT(with.iterations * 3, without.iterations);
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_NEAR(conditioned.row(0)[i], static_cast<double>(i), 1e-3);
}

}  // namespace
}  // namespace deepvoro
