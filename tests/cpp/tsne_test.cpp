#include "study/paper/tsne.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::random_points;

// Two groups of rows, far apart.
Matrix<double> two_groups(std::size_t count) {
  Matrix<double> rows = random_points(count, 7, 3);
  for (std::size_t r = 0; r < count / 2; ++r) rows.row(r)[2] += 20;
  return rows;
}

TEST(Tsne, NeighboursAreAsManyAsThePerplexitySays) {
  const Matrix<double> rows = random_points(40, 5, 1);
  const Matrix<double> joint = neighbour_probabilities(rows.view(), 8);
  double total = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(joint.row(i)[i], 0);
    for (std::size_t j = 0; j < 40; ++j) {
      total += joint.row(i)[j];
      EXPECT_EQ(joint.row(i)[j], joint.row(j)[i]);
    }
  }
  EXPECT_NEAR(total, 1, 1e-12);
  // Plainly: a precision for each row by bisection, the entropy in bits of it, both ways halved.
  std::vector<std::vector<double>> conditional(40, std::vector<double>(40));
  for (std::size_t i = 0; i < 40; ++i) {
    double low = 0;
    double high = 1e6;
    for (int step = 0; step < 200; ++step) {
      const double beta = (low + high) / 2;
      double sum = 0;
      for (std::size_t j = 0; j < 40; ++j) {
        double squared = 0;
        for (std::size_t d = 0; d < 5; ++d) squared += std::pow(rows.row(i)[d] - rows.row(j)[d], 2);
        conditional[i][j] = i == j ? 0 : std::exp(-beta * squared);
        sum += conditional[i][j];
      }
      double entropy = 0;
      for (double& share : conditional[i]) {
        share /= sum;
        if (share > 0) entropy -= share * std::log2(share);
      }
      (entropy > std::log2(8) ? low : high) = beta;
    }
  }
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t j = 0; j < 40; ++j)
      EXPECT_NEAR(joint.row(i)[j], (conditional[i][j] + conditional[j][i]) / 80, 1e-10);
}

TEST(Tsne, TheGradientIsThatOfTheDivergence) {
  const Matrix<double> rows = random_points(25, 6, 2);
  const Matrix<double> joint = neighbour_probabilities(rows.view(), 5);
  const Matrix<double> places = random_points(25, 2, 4);
  std::vector<PlanePoint> points;
  for (std::size_t i = 0; i < 25; ++i) points.push_back({places.row(i)[0], places.row(i)[1]});
  std::vector<PlanePoint> gradient(25);
  divergence_gradient(joint, points, 1, 2, gradient);
  for (const std::size_t i : {0U, 7U, 24U})
    for (std::size_t d = 0; d < 2; ++d) {
      constexpr double step = 1e-5;
      std::vector<PlanePoint> moved = points;
      moved[i][d] += step;
      const double above = divergence(joint, moved);
      moved[i][d] -= 2 * step;
      EXPECT_NEAR(gradient[i][d], (above - divergence(joint, moved)) / (2 * step), 1e-7);
    }
}

TEST(Tsne, GroupsStayApartAndThreadsDoNotMatter) {
  const Matrix<double> rows = two_groups(60);
  const Embedding one = embed_in_plane(rows.view(), 10, 400, 1);
  const Embedding three = embed_in_plane(rows.view(), 10, 400, 3);
  EXPECT_EQ(one.points, three.points);
  EXPECT_EQ(one.divergence, three.divergence);
  const auto squared = [&](std::size_t i, std::size_t j) {
    return std::pow(one.points[i][0] - one.points[j][0], 2) +
           std::pow(one.points[i][1] - one.points[j][1], 2);
  };
  for (std::size_t i = 0; i < 60; ++i) {
    std::size_t nearest = i == 0 ? 1 : 0;
    for (std::size_t j = 0; j < 60; ++j)
      if (j != i && squared(i, j) < squared(i, nearest)) nearest = j;
    EXPECT_EQ(i < 30, nearest < 30) << i;
  }
}

TEST(Tsne, EqualRowsAreNoTrouble) {
  const Matrix<double> rows(12, 3);
  for (const PlanePoint& point : embed_in_plane(rows.view(), 3, 300).points)
    EXPECT_TRUE(std::isfinite(point[0]) && std::isfinite(point[1]));
}

TEST(PrincipalPlane, FindsThePlaneOfPointsThatLieInOne) {
  // Along (0.6, 0.8, 0) with a spread of 5, along (0, 0, 1) with one of 1, around (1, 2, 3).
  Matrix<double> rows(4, 3);
  const double along[] = {-5, 5, 0, 0};
  const double up[] = {0, 0, -1, 1};
  for (std::size_t r = 0; r < 4; ++r) {
    rows.row(r)[0] = 1 + 0.6 * along[r];
    rows.row(r)[1] = 2 + 0.8 * along[r];
    rows.row(r)[2] = 3 + up[r];
  }
  const PrincipalPlane plane(rows.view());
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_NEAR(plane(rows.row(r))[0], along[r], 1e-12);
    EXPECT_NEAR(plane(rows.row(r))[1], up[r], 1e-12);
  }
  Matrix<double> line(3, 3);
  for (std::size_t r = 0; r < 3; ++r) line.row(r)[1] = static_cast<double>(r);
  EXPECT_NEAR(PrincipalPlane(line.view())(line.row(2))[0], 1, 1e-12);
  EXPECT_EQ(PrincipalPlane(line.view())(line.row(2))[1], 0);
}

}  // namespace
}  // namespace deepvoro
