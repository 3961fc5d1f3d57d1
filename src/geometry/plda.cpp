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
#include <limits>
#include <numeric>
#include <span>

#include "core/matrix.hpp"
#include "core/precision.hpp"
#include "deepvoro/core/error.hpp"
#include "kernels/kernels.hpp"
#include "kernels/matrix_kernels.hpp"

namespace deepvoro {
namespace {

using Dense = Eigen::MatrixXd;
using Index = Eigen::Index;

constexpr double kLeastPsi = 1e-6;
// Rows that are added to the covariance together.
constexpr std::size_t kRowsAtOnce = 64;

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

// Sums of products of the elements of rows.
class Scatter {
 public:
  explicit Scatter(std::size_t dim)
      : panels_(1, padded(dim) * kRowsAtOnce), sums_(padded(dim), padded(dim)) {}

  // Room for the next row, to be filled element by element by set().
  void begin_row() {
    if (rows_ == kRowsAtOnce) flush();
    ++rows_;
  }
  void set(std::size_t i, double value) {
    panels_.row(0)[(i / kernels::kPanel * kRowsAtOnce + rows_ - 1) * kernels::kPanel +
                   i % kernels::kPanel] = value;
  }
  // The lower half.
  [[nodiscard]] Dense sums(Index dim) {
    flush();
    const Eigen::Map<const Dense, 0, Eigen::OuterStride<>> all(
        sums_.row(0), dim, dim, Eigen::OuterStride<>(index(sums_.stride())));
    return all;
  }

 private:
  void flush() {
    const std::size_t panel_count = sums_.stride() / kernels::kPanel;
    for (std::size_t panel = 0; panel < panel_count; ++panel)
      std::fill_n(panels_.row(0) + (panel * kRowsAtOnce + rows_) * kernels::kPanel,
                  (kRowsAtOnce - rows_) * kernels::kPanel, 0.0);
    kernels::matrix_kernels().add_outer_products(panels_.row(0), panel_count, kRowsAtOnce,
                                                 sums_.row(0), sums_.stride());
    rows_ = 0;
  }

  Matrix<double> panels_;
  Matrix<double> sums_;
  std::size_t rows_ = 0;
};

Statistics statistics_of(const BaseRows& base) {
  const Index dim = index(base.dim);
  std::size_t rows = 0;
  for (const auto& of_class : base.by_class) rows += of_class.size();
  check(base, rows);
  const auto J = static_cast<double>(base.by_class.size());
  const auto n = static_cast<double>(rows);

  Scatter within(base.dim);
  Dense means(dim, index(base.by_class.size()));
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
      within.begin_row();
      for (Index d = 0; d < dim; ++d)
        within.set(static_cast<std::size_t>(d), of_class(d, i) - means(d, index(c)));
    }
  }
  Statistics statistics{means.rowwise().sum() / J, within.sums(dim) / (n - J), {}};
  Scatter between(base.dim);
  for (Index c = 0; c < means.cols(); ++c) {
    between.begin_row();
    for (Index d = 0; d < dim; ++d)
      between.set(static_cast<std::size_t>(d), means(d, c) - statistics.mean(d));
  }
  statistics.between = between.sums(dim);
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

// Eigen would ask the processor for its caches and order its sums by them.
void fix_block_sizes() {
  static const bool once = [] {
    Eigen::setCpuCacheSizes(Index{32} << 10, Index{512} << 10, Index{4} << 20);
    return true;
  }();
  (void)once;
}

// sqrt(x^2 + y^2), which is not the same in every C library.
double length_of(double x, double y) {
  const double larger = std::max(std::abs(x), std::abs(y));
  if (larger == 0) return 0;
  const double a = x / larger;
  const double b = y / larger;
  return larger * std::sqrt(a * a + b * b);
}

// Implicit QR steps with Wilkinson's shift on a tridiagonal matrix, whose diagonal becomes its
// eigenvalues. The rotations are not applied to anything here: a matrix can take all of them in the
// end, some rows at a time, which then never leave the cache.
std::vector<kernels::Rotation> diagonalising(Eigen::VectorXd& diagonal,
                                             Eigen::VectorXd& subdiagonal) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  constexpr Index most_steps_per_value = 60;
  std::vector<kernels::Rotation> rotations;
  Index steps = 0;
  for (Index end = diagonal.size() - 1; end > 0;) {
    for (Index i = 0; i < end; ++i)
      if (std::abs(subdiagonal[i]) <= epsilon * (std::abs(diagonal[i]) + std::abs(diagonal[i + 1])))
        subdiagonal[i] = 0;
    while (end > 0 && subdiagonal[end - 1] == 0) --end;
    if (end == 0) break;
    if (++steps > most_steps_per_value * diagonal.size())
      throw internal_error("eigenvalues of base classes do not converge");
    Index start = end - 1;
    while (start > 0 && subdiagonal[start - 1] != 0) --start;

    const double half = (diagonal[end - 1] - diagonal[end]) / 2;
    const double e = subdiagonal[end - 1];
    const double root = length_of(half, e);
    const double shift = diagonal[end] - e * (e / (half + (half > 0 ? root : -root)));
    double x = diagonal[start] - shift;
    double z = subdiagonal[start];
    for (Index k = start; k < end && z != 0; ++k) {
      const double r = length_of(x, z);
      const double c = x / r;
      const double s = -z / r;
      rotations.push_back({c, s, static_cast<std::uint32_t>(k)});
      const double sdk = s * diagonal[k] + c * subdiagonal[k];
      const double dkp1 = s * subdiagonal[k] + c * diagonal[k + 1];
      diagonal[k] = c * (c * diagonal[k] - s * subdiagonal[k]) -
                    s * (c * subdiagonal[k] - s * diagonal[k + 1]);
      diagonal[k + 1] = s * sdk + c * dkp1;
      subdiagonal[k] = c * sdk - s * dkp1;
      if (k > start) subdiagonal[k - 1] = c * subdiagonal[k - 1] - s * z;
      x = subdiagonal[k];
      if (k < end - 1) {
        z = -s * subdiagonal[k + 1];
        subdiagonal[k + 1] *= c;
      }
    }
  }
  return rotations;
}

void rotate_columns(std::span<const kernels::Rotation> rotations, Dense& matrix) {
  std::vector<double> block(static_cast<std::size_t>(matrix.cols()) * kernels::kPanel);
  for (Index first = 0; first < matrix.rows(); first += index(kernels::kPanel)) {
    const Index count = std::min(index(kernels::kPanel), matrix.rows() - first);
    for (Index j = 0; j < matrix.cols(); ++j)
      for (Index r = 0; r < count; ++r)
        block[static_cast<std::size_t>(j) * kernels::kPanel + static_cast<std::size_t>(r)] =
            matrix(first + r, j);
    kernels::matrix_kernels().rotate(rotations.data(), rotations.size(), block.data());
    for (Index j = 0; j < matrix.cols(); ++j)
      for (Index r = 0; r < count; ++r)
        matrix(first + r, j) =
            block[static_cast<std::size_t>(j) * kernels::kPanel + static_cast<std::size_t>(r)];
  }
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
  const Eigen::Tridiagonalization<Dense> tridiagonal(between);
  Eigen::VectorXd diagonal = tridiagonal.diagonal();
  Eigen::VectorXd subdiagonal = tridiagonal.subDiagonal();
  const std::vector<kernels::Rotation> rotations = diagonalising(diagonal, subdiagonal);
  model.axes.resize(base.dim * base.dim);
  Dense axes = tridiagonal.matrixQ();
  statistics.within.transpose().triangularView<Eigen::Upper>().solveInPlace(axes);
  rotate_columns(rotations, axes);
  Eigen::Map<Dense>(model.axes.data(), dim, dim) = axes;  // its columns lie one after the other
  for (Index j = 0; j < dim; ++j) model.psi.push_back(std::max(diagonal[j], kLeastPsi));
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
