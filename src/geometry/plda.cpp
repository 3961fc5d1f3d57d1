#include "deepvoro/geometry/plda.hpp"

#include <fmt/format.h>

// Nothing here may depend on the processor or on threads: this file is compiled for the baseline
// instruction set, and Eigen keeps to one thread.
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_MPL2_ONLY
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/precision.hpp"
#include "deepvoro/kernels/kernels.hpp"

namespace deepvoro {
namespace {

using Dense = Eigen::MatrixXd;
using Index = Eigen::Index;

constexpr double kLeastPsi = 1e-6;
// Rows that are added to the covariance together.
constexpr std::size_t kRowsAtOnce = 256;

Index index(std::size_t value) {
  return static_cast<Index>(value);
}

// Of base rows. Symmetric matrices have their lower halves filled.
struct Statistics {
  Eigen::VectorXd mean;  // of the class means
  Dense within;
  Dense between;
};

void check(const BaseRows& base, std::size_t rows) {
  const std::size_t classes = base.by_class.size();
  if (classes < 2)
    throw data_error(
        fmt::format("{}: has {} base class, but plda members learn from the differences between "
                    "base classes; use at least 2",
                    base.origin, classes));
  if (rows <= classes)
    throw data_error(
        fmt::format("{}: has {} rows in {} base classes, but plda members learn from the "
                    "differences within a class; some need 2 rows or more",
                    base.origin, rows, classes));
}

// Columns are samples.
void add_scatter(const Dense& samples, Index count, Dense& to) {
  to.selfadjointView<Eigen::Lower>().rankUpdate(samples.leftCols(count));
}

Statistics statistics_of(const BaseRows& base) {
  const Index dim = index(base.dim);
  std::size_t rows = 0;
  for (const auto& of_class : base.by_class) rows += of_class.size();
  check(base, rows);
  const auto J = static_cast<double>(base.by_class.size());
  const auto n = static_cast<double>(rows);

  Statistics statistics{Eigen::VectorXd::Zero(dim), Dense::Zero(dim, dim), Dense::Zero(dim, dim)};
  Dense means(dim, index(base.by_class.size()));
  Dense block(dim, index(kRowsAtOnce));
  Index in_block = 0;
  std::vector<double> row(padded(base.dim));
  Dense of_class;
  for (std::size_t c = 0; c < base.by_class.size(); ++c) {
    const std::vector<std::size_t>& members = base.by_class[c];
    of_class.resize(dim, index(members.size()));
    for (std::size_t i = 0; i < members.size(); ++i) {
      base.read(members[i], row.data());
      of_class.col(index(i)) = Eigen::Map<const Eigen::VectorXd>(row.data(), dim);
    }
    means.col(index(c)) = of_class.rowwise().sum() / static_cast<double>(members.size());
    for (Index i = 0; i < of_class.cols(); ++i) {
      block.col(in_block++) = of_class.col(i) - means.col(index(c));
      if (in_block == block.cols()) {
        add_scatter(block, in_block, statistics.within);
        in_block = 0;
      }
    }
  }
  add_scatter(block, in_block, statistics.within);
  statistics.within /= n - J;
  statistics.mean = means.rowwise().sum() / J;
  means.colwise() -= statistics.mean;
  add_scatter(means, means.cols(), statistics.between);
  statistics.between = statistics.between / (J - 1) - statistics.within * (J / n);
  if (!(statistics.within.trace() > 0))
    throw data_error(fmt::format(
        "{}: all rows of a base class are equal, in every class; plda members need classes that "
        "vary",
        base.origin));
  if (!(statistics.between.trace() > 0))
    throw data_error(
        fmt::format("{}: base classes differ no more than samples of one class do; plda members "
                    "have nothing to learn from them",
                    base.origin));
  return statistics;
}

void shrink(Dense& covariance, double share) {
  const double mean_variance = covariance.trace() / static_cast<double>(covariance.rows());
  covariance *= 1 - share;
  covariance.diagonal().array() += share * mean_variance;
}

class PldaSpace final : public Space {
 public:
  PldaSpace(const Plda& plda, const BaseRows& base) : kappa_(plda.kappa), mean_(padded(base.dim)) {
    Statistics statistics = statistics_of(base);
    std::ranges::copy(statistics.mean, mean_.begin());
    shrink(statistics.within, plda.shrink_within);
    shrink(statistics.between, plda.shrink_between);
    diagonalise(statistics, base);
  }

  void map(MatrixView<const float> rows, const double* taken_off,
           MatrixView<float> points) const override {
    map_rows(axes_float_, rows, taken_off, points);
  }
  void map(MatrixView<const double> rows, const double* taken_off,
           MatrixView<double> points) const override {
    map_rows(axes_double_, rows, taken_off, points);
  }

  [[nodiscard]] Metric metric(std::size_t shots) const override {
    const auto N = static_cast<double>(shots);
    Metric metric;
    for (const double psi : psi_) {
      const double p = psi / kappa_;
      const double m = p / (p + 1 / N);
      const double v = 1 + p / (N * p + 1);
      metric.query_scale.push_back(1 / std::sqrt(v));
      metric.center_scale.push_back(m / std::sqrt(v));
      metric.offset += std::log(v);
    }
    return metric;
  }

  [[nodiscard]] std::size_t bytes() const override {
    return axes_float_.rows() * axes_float_.stride() * sizeof(float) +
           axes_double_.rows() * axes_double_.stride() * sizeof(double);
  }

 private:
  // A with A^T S_w A = 1 and A^T S_b A = diag(psi), by the Cholesky factor of S_w: any such A gives
  // the same distances, and this one costs a single eigenproblem.
  void diagonalise(Statistics& statistics, const BaseRows& base) {
    const Index dim = index(base.dim);
    const Eigen::LLT<Eigen::Ref<Dense>> cholesky(statistics.within);
    const auto factor = statistics.within.triangularView<Eigen::Lower>();
    const double largest = statistics.within.diagonal().maxCoeff();
    constexpr double least_ratio = 1e-7;
    if (cholesky.info() != Eigen::Success ||
        !(statistics.within.diagonal().minCoeff() > least_ratio * largest))
      throw data_error(
          fmt::format("{}: samples of the base classes do not vary in all {} dimensions; give plda "
                      "members a shrink_within above 0",
                      base.origin, base.dim));
    Dense between = statistics.between.selfadjointView<Eigen::Lower>();
    factor.solveInPlace(between);
    between.transposeInPlace();
    factor.solveInPlace(between);
    const Eigen::SelfAdjointEigenSolver<Dense> solver(between);
    if (solver.info() != Eigen::Success)
      throw data_error(fmt::format("{}: the covariance of the base classes cannot be diagonalised",
                                   base.origin));
    Dense axes = solver.eigenvectors();
    statistics.within.transpose().triangularView<Eigen::Upper>().solveInPlace(axes);

    psi_.resize(base.dim);
    for (Index j = 0; j < dim; ++j)
      psi_[static_cast<std::size_t>(j)] = std::max(solver.eigenvalues()[j], kLeastPsi);
    length_ = std::sqrt(std::accumulate(psi_.begin(), psi_.end(), static_cast<double>(dim)));
    const auto copy = [&](auto& to) {
      using Real = std::remove_reference_t<decltype(*to.row(0))>;
      for (std::size_t j = 0; j < base.dim; ++j)
        for (std::size_t i = 0; i < base.dim; ++i)
          to.row(j)[i] = static_cast<Real>(axes(index(i), index(j)));
    };
    if (base.dim < kFloatDim) {
      axes_double_ = Matrix<double>(base.dim, base.dim);
      copy(axes_double_);
    } else {
      axes_float_ = Matrix<float>(base.dim, base.dim);
      copy(axes_float_);
    }
  }

  template <class Real>
  void map_rows(const Matrix<Real>& axes, MatrixView<const Real> rows, const double* taken_off,
                MatrixView<Real> points) const {
    const std::size_t dim = rows.cols();
    const std::size_t length = padded(dim);
    Matrix<Real> centered(rows.rows(), dim);
    std::vector<const Real*> row_pointers;
    std::vector<const Real*> axis_pointers;
    for (std::size_t r = 0; r < rows.rows(); ++r) {
      for (std::size_t i = 0; i < dim; ++i)
        centered.row(r)[i] =
            static_cast<Real>(static_cast<double>(rows.row(r)[i]) + (taken_off[i] - mean_[i]));
      row_pointers.push_back(centered.row(r));
      std::fill_n(points.row(r), dim, Real{0});
    }
    for (std::size_t begin = 0; begin < length; begin += kernels::kQuickLength) {
      axis_pointers.clear();
      for (std::size_t j = 0; j < dim; ++j) axis_pointers.push_back(axes.row(j) + begin);
      kernels::add_dots(
          kernels::active(),
          kernels::DotProducts<Real>{.queries = axis_pointers.data(),
                                     .query_count = dim,
                                     .centers = row_pointers.data(),
                                     .center_count = rows.rows(),
                                     .length = std::min(kernels::kQuickLength, length - begin),
                                     .out = points.data(),
                                     .center_stride = points.stride()});
      for (const Real*& row : row_pointers) row += kernels::kQuickLength;
    }
    for (std::size_t r = 0; r < rows.rows(); ++r) {
      double squares = 0;
      for (const Real value : points[r])
        squares += static_cast<double>(value) * static_cast<double>(value);
      const auto scale = static_cast<Real>(squares > 0 ? length_ / std::sqrt(squares) : 0);
      for (Real& value : points[r]) value *= scale;
    }
  }

  double kappa_;
  double length_ = 0;
  std::vector<double> mean_;
  std::vector<double> psi_;
  Matrix<float> axes_float_;  // A, transposed; the other one is empty
  Matrix<double> axes_double_;
};

}  // namespace

std::shared_ptr<const Space> Plda::space(const BaseRows& base) const {
  return std::make_shared<PldaSpace>(*this, base);
}

}  // namespace deepvoro
