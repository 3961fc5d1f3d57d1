#include "deepvoro/geometry/plda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "core/matrix.hpp"
#include "core/precision.hpp"
#include "deepvoro/core/error.hpp"
#include "eigenvectors.hpp"
#include "kernels/kernels.hpp"
#include "scatter.hpp"

namespace deepvoro {
namespace {

constexpr double kLeastPsi = 1e-6;

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

Statistics statistics_of(const BaseRows& base) {
  const Index dim = index(base.dim);
  std::size_t rows = 0;
  for (const auto& of_class : base.by_class) rows += of_class.size();
  check(base, rows);
  const auto J = static_cast<double>(base.by_class.size());
  const auto n = static_cast<double>(rows);

  const ClassScatter scatter = scatter_of(base);
  Statistics statistics{scatter.mean, scatter.within, {}};
  Scatter between(base.dim);
  for (Index c = 0; c < scatter.class_means.cols(); ++c) {
    between.begin_row();
    for (Index d = 0; d < dim; ++d)
      between.set(static_cast<std::size_t>(d), scatter.class_means(d, c) - statistics.mean(d));
  }
  statistics.between = between.sums();
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

// A with A^T S_w A = 1 and A^T S_b A = diag(psi), by the Cholesky factor of S_w: any such A gives
// the same distances, and this one costs a single eigenproblem.
void diagonalise(Statistics& statistics, const BaseRows& base, PldaModel& model) {
  fix_block_sizes();
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
  const Eigenvectors eigen(between);
  model.axes.resize(base.dim * base.dim);
  Dense axes = eigen.basis();
  statistics.within.transpose().triangularView<Eigen::Upper>().solveInPlace(axes);
  eigen.turn(axes);
  Eigen::Map<Dense>(model.axes.data(), dim, dim) = axes;  // its columns lie one after the other
  for (Index j = 0; j < dim; ++j) model.psi.push_back(std::max(eigen.values()[j], kLeastPsi));
}

class PldaSpace final : public Space {
 public:
  PldaSpace(double kappa, const PldaModel& model)
      : kappa_(kappa),
        length_(std::sqrt(std::accumulate(model.psi.begin(), model.psi.end(),
                                          static_cast<double>(model.psi.size())))),
        mean_(model.mean),
        psi_(model.psi) {
    const std::size_t dim = psi_.size();
    const auto copy = [&](auto& to) {
      using Real = std::remove_reference_t<decltype(*to.row(0))>;
      for (std::size_t j = 0; j < dim; ++j)
        for (std::size_t i = 0; i < dim; ++i)
          to.row(j)[i] = static_cast<Real>(model.axes[j * dim + i]);
    };
    if (dim < kFloatDim) {
      axes_double_ = Matrix<double>(dim, dim);
      copy(axes_double_);
    } else {
      axes_float_ = Matrix<float>(dim, dim);
      copy(axes_float_);
    }
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
    std::vector<double> log_v(padded(psi_.size()), 1.0);
    for (const double psi : psi_) {
      const double p = psi / kappa_;
      const double m = p / (p + 1 / N);
      const double v = 1 + p / (N * p + 1);
      metric.query_scale.push_back(1 / std::sqrt(v));
      metric.center_scale.push_back(m / std::sqrt(v));
      log_v[metric.query_scale.size() - 1] = v;
    }
    const kernels::RowTransform logarithm{.lambda = 0, .ladder = kernels::Ladder::logarithm};
    (void)kernels::active().transform(logarithm, 1, psi_.size(), log_v.data());
    for (std::size_t i = 0; i < psi_.size(); ++i) metric.offset += log_v[i];
    return metric;
  }

  [[nodiscard]] std::size_t bytes() const override {
    return axes_float_.rows() * axes_float_.stride() * sizeof(float) +
           axes_double_.rows() * axes_double_.stride() * sizeof(double);
  }

 private:
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
  double length_;
  std::vector<double> mean_;
  std::vector<double> psi_;
  Matrix<float> axes_float_;  // A, transposed; the other one is empty
  Matrix<double> axes_double_;
};

}  // namespace

PldaModel Plda::model(const BaseRows& base) const {
  Statistics statistics = statistics_of(base);
  PldaModel model{.mean = {statistics.mean.begin(), statistics.mean.end()}, .psi = {}, .axes = {}};
  shrink(statistics.within, shrink_within);
  shrink(statistics.between, shrink_between);
  diagonalise(statistics, base, model);
  return model;
}

std::shared_ptr<const Space> Plda::space(const PldaModel& model) const {
  return std::make_shared<PldaSpace>(kappa, model);
}

}  // namespace deepvoro
