#include "deepvoro/geometry/diagram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "expect_error.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using testing::expect_error;
using testing::random_points;
using View = MatrixView<const double>;

static_assert(Diagram<VoronoiDiagram, Point>);
static_assert(Diagram<PowerDiagram, Point>);
static_assert(Diagram<ClusterInducedDiagram, Point>);
static_assert(Diagram<ClusterToClusterDiagram, std::span<const Point>>);

Matrix<double> points(const std::vector<std::vector<double>>& rows) {
  Matrix<double> matrix(rows.size(), rows.front().size());
  for (std::size_t r = 0; r < rows.size(); ++r) std::ranges::copy(rows[r], matrix.row(r));
  return matrix;
}

// Each model of the concept as the diagram it is when every cell has one center: its cells are
// then those of the nearest center.
struct AsVoronoi {
  static VoronoiDiagram of(View centers) { return VoronoiDiagram(centers); }
};
struct AsPower {
  static PowerDiagram of(View centers) {
    return {centers, std::vector<double>(centers.rows(), 0.7)};
  }
};
template <int Alpha>
struct AsClusterInduced {
  static ClusterInducedDiagram of(View centers) {
    std::vector<View> clusters;
    for (std::size_t k = 0; k < centers.rows(); ++k)
      clusters.emplace_back(centers.row(k), 1, centers.cols(), centers.stride());
    return {clusters, Influence(Alpha)};
  }
};
template <int Alpha>
struct AsClusterToCluster {
  static ClusterToClusterDiagram of(View centers) {
    return {std::array<View, 1>{centers}, Influence(Alpha)};
  }
};

template <class D>
std::vector<double> influence_of(const D& diagram, Point query) {
  std::vector<double> out(diagram.cells());
  if constexpr (std::is_same_v<D, ClusterToClusterDiagram>)
    diagram.influence(std::array<Point, 1>{query}, out);
  else
    diagram.influence(query, out);
  return out;
}

template <class D>
std::size_t cell_at(const D& diagram, Point query) {
  if constexpr (std::is_same_v<D, ClusterToClusterDiagram>) {
    const std::array<Point, 1> cluster{query};
    return assign(diagram, std::span<const Point>(cluster));
  } else {
    return assign(diagram, query);
  }
}

std::size_t nearest(const Matrix<double>& centers, Point query) {
  std::size_t best = 0;
  long double smallest = std::numeric_limits<long double>::infinity();
  for (std::size_t k = 0; k < centers.rows(); ++k) {
    long double squared = 0;
    for (std::size_t i = 0; i < query.size(); ++i) {
      const long double difference = static_cast<long double>(query[i]) - centers.row(k)[i];
      squared += difference * difference;
    }
    if (squared < smallest) {
      smallest = squared;
      best = k;
    }
  }
  return best;
}

template <class Model>
class EveryDiagram : public ::testing::Test {};
using Models =
    ::testing::Types<AsVoronoi, AsPower, AsClusterInduced<1>, AsClusterInduced<2>,
                     AsClusterInduced<-1>, AsClusterToCluster<1>, AsClusterToCluster<-2>>;
TYPED_TEST_SUITE(EveryDiagram, Models);

TYPED_TEST(EveryDiagram, AssignsToTheNearestCenter) {
  for (const std::size_t dim : {1U, 2U, 15U, 16U, 17U, 64U})
    for (const std::size_t cells : {2U, 5U, 6U, 13U}) {
      const Matrix<double> centers = random_points(cells, dim, 1);
      const Matrix<double> queries = random_points(50, dim, 2);
      const auto diagram = TypeParam::of(centers.view());
      ASSERT_EQ(diagram.cells(), cells);
      for (std::size_t q = 0; q < queries.rows(); ++q)
        EXPECT_EQ(cell_at(diagram, queries.view()[q]), nearest(centers, queries.view()[q]))
            << dim << " dimensions, " << cells << " cells, query " << q;
    }
}

TYPED_TEST(EveryDiagram, GivesTheCellItAssignsTheLargestInfluence) {
  const Matrix<double> centers = random_points(7, 3, 3);
  const Matrix<double> queries = random_points(20, 3, 4);
  const auto diagram = TypeParam::of(centers.view());
  for (std::size_t q = 0; q < queries.rows(); ++q) {
    const std::vector<double> influence = influence_of(diagram, queries.view()[q]);
    const std::size_t cell = cell_at(diagram, queries.view()[q]);
    EXPECT_EQ(influence[cell], *std::ranges::max_element(influence));
  }
}

TYPED_TEST(EveryDiagram, BreaksTiesToTheSmallestIndex) {
  const auto diagram = TypeParam::of(points({{9, 9}, {0, 1}, {1, 0}, {0, -1}, {-1, 0}}).view());
  EXPECT_EQ(cell_at(diagram, std::array{0.0, 0.0}), 1U);
  const auto same_centers = TypeParam::of(points({{2, 2}, {2, 2}, {2, 2}}).view());
  EXPECT_EQ(cell_at(same_centers, std::array{0.0, 1.0}), 0U);
  EXPECT_EQ(cell_at(same_centers, std::array{2.0, 2.0}), 0U);
}

TYPED_TEST(EveryDiagram, OfOneCellAssignsEverythingToIt) {
  const auto diagram = TypeParam::of(points({{1, 2, 3}}).view());
  EXPECT_EQ(diagram.cells(), 1U);
  EXPECT_EQ(cell_at(diagram, std::array{-1e9, 0.0, 1e9}), 0U);
  EXPECT_EQ(cell_at(diagram, std::array{1.0, 2.0, 3.0}), 0U);
}

TYPED_TEST(EveryDiagram, AssignsACenterToItsOwnCell) {
  const Matrix<double> centers = random_points(9, 4, 5);
  const auto diagram = TypeParam::of(centers.view());
  for (std::size_t k = 0; k < centers.rows(); ++k)
    EXPECT_EQ(cell_at(diagram, centers.view()[k]), k);
}

TYPED_TEST(EveryDiagram, OwnsItsCenters) {
  Matrix<double> centers = points({{0, 0}, {10, 10}});
  const auto diagram = TypeParam::of(std::as_const(centers).view());
  std::ranges::fill(centers.view()[0], 100.0);
  EXPECT_EQ(cell_at(diagram, std::array{1.0, 1.0}), 0U);
}

TYPED_TEST(EveryDiagram, RefusesAQueryOfAnotherDimension) {
  const auto diagram = TypeParam::of(points({{1, 2, 3}, {4, 5, 6}}).view());
  expect_error(ErrorKind::usage, {"2 dimensions", "3"}, [&] {
    (void)cell_at(diagram, std::array{1.0, 2.0});
  });
  expect_error(ErrorKind::usage, {"4 dimensions", "3"}, [&] {
    (void)cell_at(diagram, std::array{1.0, 2.0, 3.0, 4.0});
  });
}

TYPED_TEST(EveryDiagram, NeedsACenterOfAtLeastOneDimension) {
  expect_error(ErrorKind::usage, {"at least one"},
               [] { (void)TypeParam::of(View(nullptr, 0, 3)); });
  expect_error(ErrorKind::usage, {"at least one"},
               [] { (void)TypeParam::of(View(nullptr, 2, 0)); });
}

TEST(VoronoiDiagram, HasTheNegatedDistanceAsInfluence) {
  const VoronoiDiagram diagram(points({{3, 4}, {0, 2}}).view());
  EXPECT_EQ(influence_of(diagram, std::array{0.0, 0.0}), (std::vector<double>{-5, -2}));
}

TEST(PowerDiagram, HasWeightMinusSquaredDistanceAsInfluence) {
  const PowerDiagram diagram(points({{3, 4}, {0, 2}}).view(), std::array{24.0, 1.0});
  EXPECT_EQ(influence_of(diagram, std::array{0.0, 0.0}), (std::vector<double>{-1, -3}));
  EXPECT_EQ(cell_at(diagram, std::array{0.0, 0.0}), 0U);
}

TEST(PowerDiagram, NeedsOneWeightForEachCenter) {
  expect_error(ErrorKind::usage, {"2 centers", "3 weights"}, [] {
    PowerDiagram(points({{1, 2}, {3, 4}}).view(), std::array{1.0, 2.0, 3.0});
  });
  expect_error(ErrorKind::usage, {"2 rows", "1 biases"}, [] {
    (void)PowerDiagram::of_linear_classifier(points({{1, 2}, {3, 4}}).view(), std::array{1.0});
  });
}

TEST(PowerDiagram, OfALinearClassifierHasHalvedRowsAndTheWeightsOfTheTheorem) {
  const auto diagram =
      PowerDiagram::of_linear_classifier(points({{2, 4}, {-6, 0}}).view(), std::array{1.0, -9.0});
  EXPECT_EQ(diagram.centers()[0][0], 1);
  EXPECT_EQ(diagram.centers()[0][1], 2);
  EXPECT_EQ(diagram.centers()[1][0], -3);
  EXPECT_EQ(diagram.weights()[0], 1 + 20.0 / 4);
  EXPECT_EQ(diagram.weights()[1], -9 + 36.0 / 4);
}

std::size_t largest_linear_score(const Matrix<double>& W, std::span<const double> b, Point z) {
  std::size_t best = 0;
  long double largest = -std::numeric_limits<long double>::infinity();
  for (std::size_t k = 0; k < W.rows(); ++k) {
    long double score = b[k];
    for (std::size_t i = 0; i < z.size(); ++i)
      score += static_cast<long double>(W.row(k)[i]) * z[i];
    if (score > largest) {
      largest = score;
      best = k;
    }
  }
  return best;
}

TEST(PowerDiagram, AgreesWithItsLinearClassifierEverywhere) {
  for (const std::size_t dim : {2U, 17U}) {
    const Matrix<double> W = random_points(8, dim, 6);
    const Matrix<double> b = random_points(1, 8, 7);
    const auto diagram = PowerDiagram::of_linear_classifier(W.view(), b.view()[0]);
    const Matrix<double> queries = random_points(500, dim, 8);
    for (std::size_t q = 0; q < queries.rows(); ++q) {
      const Point z = queries.view()[q];
      EXPECT_EQ(cell_at(diagram, z), largest_linear_score(W, b.view()[0], z)) << "query " << q;
    }
  }
}

TEST(PowerDiagram, BecomesALinearClassifierWithTheSameCells) {
  const Matrix<double> centers = random_points(7, 11, 16);
  const Matrix<double> weights = random_points(1, 7, 17);
  const PowerDiagram diagram(centers.view(), weights.view()[0]);
  const LinearClassifier linear = diagram.to_linear_classifier();
  const Matrix<double> queries = random_points(500, 11, 18);
  for (std::size_t q = 0; q < queries.rows(); ++q) {
    const Point z = queries.view()[q];
    EXPECT_EQ(cell_at(diagram, z), largest_linear_score(linear.W, linear.b, z)) << "query " << q;
  }
}

TEST(PowerDiagram, OfItsOwnLinearClassifierIsItself) {
  const PowerDiagram diagram(points({{1, 2}, {-3, 0.5}}).view(), std::array{0.25, -2.0});
  const LinearClassifier linear = diagram.to_linear_classifier();
  EXPECT_EQ(linear.W.row(1)[0], -6);
  EXPECT_EQ(linear.b[0], 0.25 - 5);
  const auto again = PowerDiagram::of_linear_classifier(linear.W.view(), linear.b);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(again.weights()[k], diagram.weights()[k]);
    EXPECT_TRUE(std::ranges::equal(again.centers()[k], diagram.centers()[k]));
  }
}

TEST(VoronoiReduction, WithTiedBiasesAllWeightsAreZeroAndTheNearestHalvedRowWins) {
  constexpr std::size_t dim = 5;
  const Matrix<double> W = random_points(6, dim, 9);
  std::vector<double> tied_b;
  Matrix<double> halved(W.rows(), dim);
  for (std::size_t k = 0; k < W.rows(); ++k) {
    double squared_norm = 0;
    for (std::size_t i = 0; i < dim; ++i) {
      squared_norm += W.row(k)[i] * W.row(k)[i];
      halved.row(k)[i] = W.row(k)[i] / 2;
    }
    tied_b.push_back(-squared_norm / 4);
  }
  const auto diagram = PowerDiagram::of_linear_classifier(W.view(), tied_b);
  for (const double weight : diagram.weights()) EXPECT_EQ(weight, 0);
  const Matrix<double> queries = random_points(500, dim, 10);
  for (std::size_t q = 0; q < queries.rows(); ++q) {
    const Point z = queries.view()[q];
    EXPECT_EQ(cell_at(diagram, z), nearest(halved, z));
    EXPECT_EQ(cell_at(diagram, z), largest_linear_score(W, tied_b, z));
  }
}

TEST(ClusterInducedDiagram, SumsOverAllCentersOfACell) {
  const Matrix<double> first = points({{3, 4}, {0, 1}, {0, 2}});
  const Matrix<double> second = points({{0, 5}});
  const std::array<View, 2> clusters{first.view(), second.view()};
  const std::array<double, 2> origin{0, 0};
  EXPECT_EQ(influence_of(ClusterInducedDiagram(clusters, Influence(1)), origin),
            (std::vector<double>{-8, -5}));
  EXPECT_EQ(influence_of(ClusterInducedDiagram(clusters, Influence(2)), origin),
            (std::vector<double>{-30, -25}));
  const auto inverse = influence_of(ClusterInducedDiagram(clusters, Influence(-1)), origin);
  EXPECT_DOUBLE_EQ(inverse[0], 1.0 / 5 + 1 + 0.5);
  EXPECT_DOUBLE_EQ(inverse[1], 1.0 / 5);
}

TEST(ClusterInducedDiagram, WithOneCenterInEachCellIsTheVoronoiDiagram) {
  const Matrix<double> centers = random_points(6, 5, 11);
  const auto voronoi = AsVoronoi::of(centers.view());
  const auto induced = AsClusterInduced<1>::of(centers.view());
  const Matrix<double> queries = random_points(30, 5, 12);
  for (std::size_t q = 0; q < queries.rows(); ++q)
    EXPECT_EQ(influence_of(induced, queries.view()[q]), influence_of(voronoi, queries.view()[q]));
}

TEST(ClusterToClusterDiagram, WithOneMemberIsTheClusterInducedDiagram) {
  const Matrix<double> centers = random_points(6, 5, 13);
  const auto induced = AsClusterInduced<-2>::of(centers.view());
  const auto to_cluster = AsClusterToCluster<-2>::of(centers.view());
  const Matrix<double> queries = random_points(30, 5, 14);
  for (std::size_t q = 0; q < queries.rows(); ++q)
    EXPECT_EQ(influence_of(to_cluster, queries.view()[q]),
              influence_of(induced, queries.view()[q]));
}

TEST(ClusterToClusterDiagram, PairsTheIthCenterWithTheIthPointInItsOwnSpace) {
  const Matrix<double> in_plane = points({{3, 4}, {0, 0}});
  const Matrix<double> on_line = points({{1}, {10}});
  const ClusterToClusterDiagram diagram(std::array<View, 2>{in_plane.view(), on_line.view()},
                                        Influence(1));
  const std::array<double, 2> plane_point{0, 0};
  const std::array<double, 1> line_point{1};
  std::vector<double> influence(2);
  diagram.influence(std::array<Point, 2>{plane_point, line_point}, influence);
  EXPECT_EQ(influence, (std::vector<double>{-5, -9}));
}

TEST(ClusterToClusterDiagram, NeedsAPointForEachMemberAndACenterForEachCell) {
  const Matrix<double> two = points({{1, 2}, {3, 4}});
  const Matrix<double> three = points({{1, 2}, {3, 4}, {5, 6}});
  expect_error(ErrorKind::usage, {"a center for each cell"}, [&] {
    ClusterToClusterDiagram(std::array<View, 2>{two.view(), three.view()}, Influence(1));
  });
  expect_error(ErrorKind::usage, {"at least one"},
               [] { ClusterToClusterDiagram({}, Influence(1)); });
  const ClusterToClusterDiagram diagram(std::array<View, 2>{two.view(), two.view()}, Influence(1));
  const std::array<double, 2> point{0, 0};
  std::vector<double> influence(2);
  expect_error(ErrorKind::usage, {"1 points", "2 members"},
               [&] { diagram.influence(std::array<Point, 1>{point}, influence); });
}

TEST(NegativeAlpha, GivesTheCellOfACenterInfiniteInfluence) {
  const Matrix<double> first = points({{100, 100}, {1, 1}});
  const Matrix<double> second = points({{1.001, 1}, {1, 1.001}});
  for (const double alpha : {-0.3, -1.0, -2.0, -2.5}) {
    const ClusterInducedDiagram diagram(std::array<View, 2>{second.view(), first.view()},
                                        Influence(alpha));
    const std::array<double, 2> on_center{1, 1};
    const std::vector<double> influence = influence_of(diagram, on_center);
    EXPECT_EQ(influence[1], std::numeric_limits<double>::infinity()) << alpha;
    EXPECT_TRUE(std::isfinite(influence[0])) << alpha;
    EXPECT_EQ(cell_at(diagram, on_center), 1U) << alpha;
  }
}

TEST(NegativeAlpha, BreaksTiesOfInfiniteInfluenceToTheSmallestIndex) {
  const Matrix<double> far = points({{5, 5}});
  const Matrix<double> here = points({{1, 1}, {1, 1}});
  const ClusterInducedDiagram diagram(std::array<View, 3>{far.view(), here.view(), here.view()},
                                      Influence(-1));
  EXPECT_EQ(cell_at(diagram, std::array{1.0, 1.0}), 1U);
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
