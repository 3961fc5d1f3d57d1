#include "geometry/diagram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "deepvoro/geometry/influence.hpp"
#include "expect_error.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::random_points;
using Points = MatrixView<const double>;
using Point = std::span<const double>;

Matrix<double> points(const std::vector<std::vector<double>>& rows) {
  Matrix<double> matrix(rows.size(), rows.front().size());
  for (std::size_t r = 0; r < rows.size(); ++r) std::ranges::copy(rows[r], matrix.row(r));
  return matrix;
}

std::vector<long double> plain_distances(const Matrix<double>& centers, Point query) {
  std::vector<long double> distances;
  for (std::size_t k = 0; k < centers.rows(); ++k) {
    long double squared = 0;
    for (std::size_t i = 0; i < query.size(); ++i) {
      const long double difference = static_cast<long double>(query[i]) - centers.row(k)[i];
      squared += difference * difference;
    }
    distances.push_back(std::sqrt(squared));
  }
  return distances;
}

std::size_t nearest(const Matrix<double>& centers, Point query) {
  const auto distances = plain_distances(centers, query);
  return static_cast<std::size_t>(std::ranges::min_element(distances) - distances.begin());
}

std::size_t cell_at(const VoronoiDiagram<double>& diagram, Point query) {
  return diagram.cell(query);
}

TEST(VoronoiDiagram, AssignsToTheNearestCenter) {
  for (const std::size_t dim : {1U, 2U, 15U, 16U, 17U, 64U})
    for (const std::size_t cells : {2U, 5U, 6U, 13U}) {
      const Matrix<double> centers = random_points(cells, dim, 1);
      const Matrix<double> queries = random_points(50, dim, 2);
      const VoronoiDiagram diagram(centers.view());
      ASSERT_EQ(diagram.cells(), cells);
      for (std::size_t q = 0; q < queries.rows(); ++q)
        EXPECT_EQ(cell_at(diagram, queries.view()[q]), nearest(centers, queries.view()[q]))
            << dim << " dimensions, " << cells << " cells, query " << q;
    }
}

TEST(VoronoiDiagram, BreaksTiesToTheSmallestIndex) {
  const VoronoiDiagram<double> diagram(points({{9, 9}, {0, 1}, {1, 0}, {0, -1}, {-1, 0}}));
  EXPECT_EQ(cell_at(diagram, std::array{0.0, 0.0}), 1U);
  const VoronoiDiagram<double> same_centers(points({{2, 2}, {2, 2}, {2, 2}}));
  EXPECT_EQ(cell_at(same_centers, std::array{0.0, 1.0}), 0U);
  EXPECT_EQ(cell_at(same_centers, std::array{2.0, 2.0}), 0U);
}

TEST(VoronoiDiagram, OfOneCellAssignsEverythingToIt) {
  const VoronoiDiagram<double> diagram(points({{1, 2, 3}}));
  EXPECT_EQ(diagram.cells(), 1U);
  EXPECT_EQ(cell_at(diagram, std::array{-1e9, 0.0, 1e9}), 0U);
}

TEST(VoronoiDiagram, OwnsItsCenters) {
  Matrix<double> centers = points({{0, 0}, {10, 10}});
  const VoronoiDiagram diagram(std::as_const(centers).view());
  std::ranges::fill(centers.view()[0], 100.0);
  EXPECT_EQ(cell_at(diagram, std::array{1.0, 1.0}), 0U);
}

TEST(VoronoiDiagram, RefusesAQueryOfAnotherDimension) {
  const VoronoiDiagram<double> diagram(points({{1, 2, 3}, {4, 5, 6}}));
  expect_error(ErrorKind::usage, {"2 dimensions", "3"}, [&] {
    (void)cell_at(diagram, std::array{1.0, 2.0});
  });
  expect_error(ErrorKind::usage, {"4 dimensions", "3"}, [&] {
    (void)cell_at(diagram, std::array{1.0, 2.0, 3.0, 4.0});
  });
}

TEST(VoronoiDiagram, NeedsACenterOfAtLeastOneDimension) {
  expect_error(ErrorKind::usage, {"at least one"},
               [] { (void)VoronoiDiagram(Points(nullptr, 0, 3)); });
  expect_error(ErrorKind::usage, {"at least one"},
               [] { (void)VoronoiDiagram(Points(nullptr, 2, 0)); });
}

TEST(VoronoiDiagram, MeasuresManyQueriesAsOne) {
  const Matrix<double> centers = random_points(5, 20, 3);
  const Matrix<double> queries = random_points(9, 20, 4);
  const VoronoiDiagram diagram(centers.view());
  Matrix<double> together(5, 9);
  diagram.distances(queries.view(), together.view());
  for (std::size_t q = 0; q < 9; ++q) {
    std::vector<double> alone(5);
    diagram.distances(queries.row(q), alone);
    const auto expected = plain_distances(centers, queries.view()[q]);
    for (std::size_t k = 0; k < 5; ++k) {
      EXPECT_EQ(together.row(k)[q], alone[k]);
      EXPECT_NEAR(alone[k], static_cast<double>(expected[k]), 1e-13);
    }
  }
}

void expect_plain_distances(const VoronoiDiagram<double>& diagram, const Matrix<double>& centers,
                            const Matrix<double>& queries) {
  Matrix<double> distances(centers.rows(), queries.rows());
  diagram.distances(queries.view(), distances.view());
  for (std::size_t q = 0; q < queries.rows(); ++q) {
    const auto expected = plain_distances(centers, queries.view()[q]);
    for (std::size_t k = 0; k < centers.rows(); ++k)
      EXPECT_NEAR(distances.row(k)[q], static_cast<double>(expected[k]), 1e-12);
  }
}

TEST(VoronoiDiagram, ByProductsHasTheSameDistancesAndNoneOnACenter) {
  const Matrix<double> centers = random_points(20, 70, 5);
  const Matrix<double> queries = random_points(30, 70, 6);
  VoronoiDiagram diagram(centers.view());
  diagram.use_products();
  expect_plain_distances(diagram, centers, queries);
  Matrix<double> of_centers(20, 20);
  diagram.distances(centers.view(), of_centers.view());
  for (std::size_t k = 0; k < 20; ++k) EXPECT_EQ(of_centers.row(k)[k], 0);
}

TEST(VoronoiDiagram, TakesNewCentersInTheSameMemory) {
  VoronoiDiagram<double> diagram(points({{0, 0}, {10, 10}}));
  const double* memory = diagram.centers().row(0);
  Matrix<double>& centers = diagram.reshaped(2, 2);
  centers.row(0)[0] = 10;
  centers.row(1)[0] = 0;
  centers.row(1)[1] = 0;
  EXPECT_EQ(diagram.centers().row(0), memory);
  EXPECT_EQ(cell_at(diagram, std::array{1.0, 1.0}), 1U);
}

TEST(VoronoiDiagram, ForgetsTheProductsOfFormerCenters) {
  VoronoiDiagram<double> diagram(random_points(20, 70, 7));
  diagram.use_products();
  const Matrix<double> centers = random_points(20, 70, 8);
  Matrix<double>& taken = diagram.reshaped(20, 70);
  for (std::size_t k = 0; k < 20; ++k) std::ranges::copy(centers.view()[k], taken.row(k));
  const Matrix<double> queries = random_points(3, 70, 9);
  expect_plain_distances(diagram, centers, queries);
}

TEST(Influence, RefusesAlphaZeroAndNotFinite) {
  for (const double alpha : {0.0, -0.0, std::nan(""), HUGE_VAL, -HUGE_VAL})
    expect_error(ErrorKind::usage, {"`alpha`"}, [&] { (void)Influence(alpha); });
}

TEST(Influence, RaisesDistancesToThePowerOfAlpha) {
  for (const double alpha : {1.0, 2.0, 0.5, -1.0, -2.0, 3.0, 0.37, -1.4}) {
    std::vector<double> distances{0.25, 1, 3, 1e-3, 1e4, 7.5};
    const std::vector<double> before = distances;
    Influence(alpha).to_terms(distances);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double expected = std::pow(before[i], alpha);
      EXPECT_NEAR(distances[i], expected, 4e-15 * expected) << before[i] << "^" << alpha;
    }
  }
}

TEST(Influence, OfZeroDistanceIsZeroOrInfinite) {
  for (const double alpha : {0.3, 0.5, 1.0, 2.0, 2.7}) {
    std::vector<double> zero{0};
    Influence(alpha).to_terms(zero);
    EXPECT_EQ(zero[0], 0) << alpha;
  }
  for (const double alpha : {-0.3, -0.5, -1.0, -2.0, -2.7}) {
    std::vector<double> zero{0};
    Influence(alpha).to_terms(zero);
    EXPECT_EQ(zero[0], std::numeric_limits<double>::infinity()) << alpha;
  }
}

TEST(CellOf, IsTheFirstLargest) {
  EXPECT_EQ(cell_of(std::array{-3.0, -1.0, -1.0, -2.0}), 1U);
  EXPECT_EQ(cell_of(std::array{4.0}), 0U);
}

}  // namespace
}  // namespace deepvoro
