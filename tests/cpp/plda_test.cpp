#include "deepvoro/geometry/plda.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "core/matrix.hpp"
#include "core/precision.hpp"
#include "expect_error.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using Square = std::vector<std::vector<double>>;
using Row = std::vector<double>;

// Base rows in memory: classes around centers of their own.
class RowsInMemory {
 public:
  RowsInMemory(std::size_t classes, std::size_t per_class, std::size_t dim, double apart = 2) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    by_class_.resize(classes);
    for (auto& of_class : by_class_) {
      Row center(dim);
      for (double& x : center) x = apart * normal(random);
      for (std::size_t s = 0; s < per_class; ++s) {
        of_class.push_back(rows_.size());
        Row row(center);
        for (double& x : row) x += normal(random);
        rows_.push_back(row);
      }
    }
  }
  RowsInMemory(std::vector<Row> rows, std::vector<std::vector<std::size_t>> by_class)
      : rows_(std::move(rows)), by_class_(std::move(by_class)) {}

  [[nodiscard]] BaseRows base() const {
    return {.dim = rows_.front().size(),
            .by_class = by_class_,
            .read = [this](std::size_t r, double* out) { std::ranges::copy(rows_[r], out); },
            .origin = "here"};
  }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& by_class() const { return by_class_; }

 private:
  std::vector<Row> rows_;
  std::vector<std::vector<std::size_t>> by_class_;
};

Square shrunk(Square covariance, double share) {
  double trace = 0;
  for (std::size_t i = 0; i < covariance.size(); ++i) trace += covariance[i][i];
  for (auto& row : covariance)
    for (double& x : row) x *= 1 - share;
  for (std::size_t i = 0; i < covariance.size(); ++i)
    covariance[i][i] += share * trace / static_cast<double>(covariance.size());
  return covariance;
}

// S_w and S_b, plainly.
struct Covariances {
  Row mean;
  Square within, between;

  Covariances(const RowsInMemory& rows, const Plda& plda) {
    const std::size_t dim = rows.rows().front().size();
    const auto J = static_cast<double>(rows.by_class().size());
    const auto n = static_cast<double>(rows.rows().size());
    mean.assign(dim, 0);
    within.assign(dim, Row(dim));
    between = within;
    std::vector<Row> means;
    for (const auto& of_class : rows.by_class()) {
      Row of(dim);
      for (const std::size_t r : of_class)
        for (std::size_t i = 0; i < dim; ++i)
          of[i] += rows.rows()[r][i] / static_cast<double>(of_class.size());
      for (std::size_t i = 0; i < dim; ++i) mean[i] += of[i] / J;
      for (const std::size_t r : of_class)
        for (std::size_t i = 0; i < dim; ++i)
          for (std::size_t j = 0; j < dim; ++j)
            within[i][j] += (rows.rows()[r][i] - of[i]) * (rows.rows()[r][j] - of[j]) / (n - J);
      means.push_back(of);
    }
    for (std::size_t i = 0; i < dim; ++i)
      for (std::size_t j = 0; j < dim; ++j) {
        for (const Row& of : means)
          between[i][j] += (of[i] - mean[i]) * (of[j] - mean[j]) / (J - 1);
        between[i][j] -= within[i][j] * J / n;
      }
    within = shrunk(within, plda.shrink_within);
    between = shrunk(between, plda.shrink_between);
  }
};

template <class Real>
Matrix<Real> mapped(const Space& space, const std::vector<Row>& rows, double taken_off) {
  Matrix<Real> from(rows.size(), rows.front().size());
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t i = 0; i < from.cols(); ++i)
      from.row(r)[i] = static_cast<Real>(rows[r][i] - taken_off);
  const std::vector<double> off(padded(from.cols()), taken_off);
  Matrix<Real> to(from.rows(), from.cols());
  space.map(MatrixView<const Real>(from.view()), off.data(), to.view());
  return to;
}

// Whitening: the inner product of points is that of rows by the inverse of S_w, so S_w times it is
// the product itself; and the diagonal of psi is that of S_b. Both follow from distances, which
// tests/python compares with the dense form. Here, what holds for one space alone.
TEST(PldaSpace, PointsHaveOneLengthAndDoNotDependOnWhatWasTakenOff) {
  for (const std::size_t dim : {3U, 80U}) {
    const RowsInMemory rows(10, 12, dim);
    const auto space = Plda{.shrink_within = 0.3, .shrink_between = 0.3}.space(rows.base());
    const Matrix<double> points =
        dim < kFloatDim ? mapped<double>(*space, rows.rows(), 0) : Matrix<double>();
    const Matrix<float> in_float =
        dim < kFloatDim ? Matrix<float>() : mapped<float>(*space, rows.rows(), 0);
    double length = -1;
    for (std::size_t r = 0; r < rows.rows().size(); ++r) {
      double squares = 0;
      for (std::size_t i = 0; i < dim; ++i)
        squares += dim < kFloatDim ? points.row(r)[i] * points.row(r)[i]
                                   : static_cast<double>(in_float.row(r)[i]) *
                                         static_cast<double>(in_float.row(r)[i]);
      if (length < 0) length = squares;
      EXPECT_NEAR(squares, length, (dim < kFloatDim ? 1e-12 : 1e-5) * length);
    }
    if (dim < kFloatDim) {
      const Matrix<double> shifted = mapped<double>(*space, rows.rows(), 0.7);
      for (std::size_t r = 0; r < points.rows(); ++r)
        for (std::size_t i = 0; i < dim; ++i)
          EXPECT_NEAR(shifted.row(r)[i], points.row(r)[i], 1e-11);
    }
  }
}

TEST(PldaSpace, TheMeanOfTheBaseClassesStaysAtTheOrigin) {
  const RowsInMemory rows({{0, 0}, {2, 0}, {0, 4}, {6, 4}}, {{0, 1}, {2, 3}});
  const auto space = Plda{}.space(rows.base());
  const Matrix<double> points = mapped<double>(*space, {{2, 2}}, 0);
  EXPECT_EQ(points.row(0)[0], 0);
  EXPECT_EQ(points.row(0)[1], 0);
}

// In one dimension everything can be written down.
TEST(PldaSpace, OfOneDimensionIsTheFormula) {
  const RowsInMemory rows({{0}, {2}, {10}, {14}, {-7}, {-6}}, {{0, 1}, {2, 3}, {4, 5}});
  const Plda plda{.shrink_within = 0.2, .shrink_between = 0.9, .kappa = 2};  // no effect in one
  const Covariances plain(rows, plda);
  const double psi = plain.between[0][0] / plain.within[0][0];
  const auto space = plda.space(rows.base());
  const Matrix<double> points = mapped<double>(*space, {{100}, {-100}}, 0);
  EXPECT_NEAR(std::abs(points.row(0)[0]), std::sqrt(1 + psi), 1e-12);
  EXPECT_NEAR(points.row(0)[0], -points.row(1)[0], 1e-12);
  for (const std::size_t shots : {1U, 5U}) {
    const auto N = static_cast<double>(shots);
    const double p = psi / 2;
    const double v = 1 + p / (N * p + 1);
    const Metric metric = space->metric(shots);
    EXPECT_NEAR(metric.query_scale[0], 1 / std::sqrt(v), 1e-12);
    EXPECT_NEAR(metric.center_scale[0], p / (p + 1 / N) / std::sqrt(v), 1e-12);
    EXPECT_NEAR(metric.offset, std::log(v), 1e-12);
  }
}

// A center is drawn to the origin less and less, and the spread of a query around it becomes 1.
TEST(PldaSpace, ManySamplesLeaveNothingToShrink) {
  const auto space = Plda{}.space(RowsInMemory(8, 9, 5).base());
  const Metric few = space->metric(1);
  const Metric many = space->metric(1'000'000);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_LT(few.center_scale[i], many.center_scale[i]);
    EXPECT_NEAR(many.center_scale[i], 1, 1e-3);
    EXPECT_NEAR(many.query_scale[i], 1, 1e-3);
  }
  EXPECT_GT(few.offset, many.offset);
}

TEST(PldaSpace, RefusesBaseRowsThatTellNothing) {
  const auto refused = [](const RowsInMemory& rows, const Plda& plda,
                          std::initializer_list<std::string_view> mentions) {
    expect_error(ErrorKind::data, mentions, [&] { (void)plda.space(rows.base()); });
  };
  refused(RowsInMemory(1, 9, 3), {}, {"here", "1 base class"});
  refused(RowsInMemory(9, 1, 3), {}, {"9 rows in 9 base classes"});
  refused(RowsInMemory({{1, 2}, {1, 2}, {5, 6}, {5, 6}}, {{0, 1}, {2, 3}}), {},
          {"all rows", "equal"});
  refused(RowsInMemory({{1, 2}, {3, 5}, {1, 2}, {3, 5}}, {{0, 1}, {2, 3}}), {}, {"differ no more"});
  refused(RowsInMemory(3, 2, 40), {.shrink_within = 0}, {"shrink_within above 0"});
}

}  // namespace
}  // namespace deepvoro
