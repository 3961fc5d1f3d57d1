#include "heads/curvature.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "heads/leading_directions.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::random_points;

constexpr std::size_t kCurvedDim = 6;
constexpr std::size_t kCurvedWays = 3;
constexpr std::size_t kCurvedSamples = 40;

struct CurvedProblem {
  Matrix<double> rows = random_points(kCurvedSamples, kCurvedDim, 1);
  Matrix<float> probabilities = Matrix<float>(kCurvedSamples, kCurvedWays);
  Matrix<double> gradient = random_points(1, kCurvedWays* padded(kCurvedDim) + kCurvedWays, 3);

  CurvedProblem() {
    const Matrix<double> logits = random_points(kCurvedSamples, kCurvedWays, 2);
    for (std::size_t i = 0; i < kCurvedSamples; ++i) {
      double total = 0;
      for (std::size_t k = 0; k < kCurvedWays; ++k) total += std::exp(logits.row(i)[k]);
      for (std::size_t k = 0; k < kCurvedWays; ++k)
        probabilities.row(i)[k] = static_cast<float>(std::exp(logits.row(i)[k]) / total);
    }
    for (std::size_t k = 0; k < kCurvedWays; ++k)
      std::fill_n(gradient.row(0) + k * padded(kCurvedDim) + kCurvedDim,
                  padded(kCurvedDim) - kCurvedDim, 0.0);
  }

  [[nodiscard]] Matrix<float> coordinates(const Matrix<double>& directions) const {
    Matrix<float> result(kCurvedSamples, directions.rows() + 1);
    for (std::size_t i = 0; i < kCurvedSamples; ++i) {
      for (std::size_t a = 0; a < directions.rows(); ++a) {
        double product = 0;
        for (std::size_t d = 0; d < kCurvedDim; ++d)
          product += rows.row(i)[d] * directions.row(a)[d];
        result.row(i)[a] = static_cast<float>(product);
      }
      result.row(i)[directions.rows()] = 1;
    }
    return result;
  }

  // The Hessian of the objective times a vector, from the samples themselves.
  [[nodiscard]] std::vector<double> multiply(const double* x) const {
    std::vector<double> result(kCurvedWays * padded(kCurvedDim) + kCurvedWays);
    for (std::size_t k = 0; k < kCurvedWays; ++k) {
      for (std::size_t d = 0; d < kCurvedDim; ++d)
        result[k * padded(kCurvedDim) + d] = x[k * padded(kCurvedDim) + d];
      result[kCurvedWays * padded(kCurvedDim) + k] = 0.01 * x[kCurvedWays * padded(kCurvedDim) + k];
    }
    for (std::size_t i = 0; i < kCurvedSamples; ++i) {
      std::vector<double> moved(kCurvedWays);
      for (std::size_t l = 0; l < kCurvedWays; ++l) {
        moved[l] = x[kCurvedWays * padded(kCurvedDim) + l];
        for (std::size_t d = 0; d < kCurvedDim; ++d)
          moved[l] += rows.row(i)[d] * x[l * padded(kCurvedDim) + d];
      }
      for (std::size_t k = 0; k < kCurvedWays; ++k) {
        double change = 0;
        for (std::size_t l = 0; l < kCurvedWays; ++l) {
          const auto p = static_cast<double>(probabilities.row(i)[k]);
          change +=
              p * ((k == l ? 1 : 0) - static_cast<double>(probabilities.row(i)[l])) * moved[l];
        }
        for (std::size_t d = 0; d < kCurvedDim; ++d)
          result[k * padded(kCurvedDim) + d] += change * rows.row(i)[d];
        result[kCurvedWays * padded(kCurvedDim) + k] += change;
      }
    }
    return result;
  }
};

Matrix<float> rounded_to_float(const Matrix<double>& from) {
  Matrix<float> to(from.rows(), from.cols());
  for (std::size_t r = 0; r < from.rows(); ++r)
    for (std::size_t c = 0; c < from.cols(); ++c) to.row(r)[c] = static_cast<float>(from.row(r)[c]);
  return to;
}

TEST(Curvature, DividesByTheHessianWhereDirectionsSpanEverything) {
  const CurvedProblem problem;
  const Matrix<double> directions = leading_directions(rounded_to_float(problem.rows).view(),
                                                       kCurvedDim + 2);  // two of them zero
  Curvature curvature(directions.view(), kCurvedWays);
  const Matrix<float> coordinates = problem.coordinates(directions);
  ASSERT_TRUE(curvature.measure(coordinates.view(), problem.probabilities.view()));
  const std::vector<double> wanted(
      problem.gradient.row(0),
      problem.gradient.row(0) + kCurvedWays * padded(kCurvedDim) + kCurvedWays);
  Matrix<double> divided = random_points(1, kCurvedWays * padded(kCurvedDim) + kCurvedWays, 3);
  std::copy(wanted.begin(), wanted.end(), divided.row(0));
  curvature.divide(divided.row(0), padded(kCurvedDim));
  const std::vector<double> back = problem.multiply(divided.row(0));
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(back[i], wanted[i], 1e-4) << i;
}

TEST(Curvature, LeavesAGradientAcrossItsDirections) {
  const CurvedProblem problem;
  Matrix<double> directions(2, kCurvedDim);
  directions.row(0)[0] = 1;
  directions.row(1)[1] = 1;
  Curvature curvature(directions.view(), kCurvedWays);
  const Matrix<float> coordinates = problem.coordinates(directions);
  ASSERT_TRUE(curvature.measure(coordinates.view(), problem.probabilities.view()));
  Matrix<double> divided(1, kCurvedWays * padded(kCurvedDim) + kCurvedWays);
  std::copy_n(problem.gradient.row(0), kCurvedWays * padded(kCurvedDim) + kCurvedWays,
              divided.row(0));
  curvature.divide(divided.row(0), padded(kCurvedDim));
  for (std::size_t k = 0; k < kCurvedWays; ++k) {
    const std::size_t first = k * padded(kCurvedDim);
    EXPECT_NE(divided.row(0)[first], problem.gradient.row(0)[first]);
    for (std::size_t d = 2; d < kCurvedDim; ++d)
      EXPECT_EQ(divided.row(0)[first + d], problem.gradient.row(0)[first + d]);
  }
}

TEST(Curvature, SaysWhenTheHessianIsUseless) {
  const CurvedProblem problem;
  Matrix<double> directions(1, kCurvedDim);
  directions.row(0)[0] = 1;
  Curvature curvature(directions.view(), kCurvedWays);
  Matrix<float> coordinates = problem.coordinates(directions);
  coordinates.row(0)[0] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(curvature.measure(coordinates.view(), problem.probabilities.view()));
}

TEST(LeadingDirections, AreOrthonormalAndFindWhereRowsVaryMost) {
  constexpr std::size_t dim = 20;
  Matrix<double> rows = random_points(300, dim, 5);
  for (std::size_t r = 0; r < rows.rows(); ++r) rows.row(r)[3] *= 100;
  const Matrix<double> directions = leading_directions(rounded_to_float(rows).view(), 4);
  ASSERT_EQ(directions.rows(), 4);
  double along_3 = 0;
  for (std::size_t a = 0; a < 4; ++a) {
    EXPECT_NEAR(directions.row(0)[a], 1 / std::sqrt(static_cast<double>(dim)), 1e-12);
    along_3 += directions.row(a)[3] * directions.row(a)[3];
    for (std::size_t b = 0; b <= a; ++b) {
      double product = 0;
      for (std::size_t d = 0; d < dim; ++d) product += directions.row(a)[d] * directions.row(b)[d];
      EXPECT_NEAR(product, a == b ? 1 : 0, 1e-12);
    }
  }
  EXPECT_NEAR(along_3, 1, 1e-3);
}

}  // namespace
}  // namespace deepvoro
