#include "scatter.hpp"

#include <algorithm>
#include <vector>

#include "kernels/matrix_kernels.hpp"

namespace deepvoro {
namespace {

// Rows that are added to the sums together.
constexpr std::size_t kRowsAtOnce = 64;

}  // namespace

Scatter::Scatter(std::size_t dim)
    : dim_(dim), panels_(1, padded(dim) * kRowsAtOnce), sums_(padded(dim), padded(dim)) {}

void Scatter::begin_row() {
  if (rows_ == kRowsAtOnce) flush();
  ++rows_;
}

void Scatter::set(std::size_t i, double value) {
  panels_.row(
      0)[(i / kernels::kPanel * kRowsAtOnce + rows_ - 1) * kernels::kPanel + i % kernels::kPanel] =
      value;
}

Dense Scatter::sums() {
  flush();
  const Eigen::Map<const Dense, 0, Eigen::OuterStride<>> all(
      sums_.row(0), index(dim_), index(dim_), Eigen::OuterStride<>(index(sums_.stride())));
  return all;
}

void Scatter::flush() {
  const std::size_t panel_count = sums_.stride() / kernels::kPanel;
  for (std::size_t panel = 0; panel < panel_count; ++panel)
    std::fill_n(panels_.row(0) + (panel * kRowsAtOnce + rows_) * kernels::kPanel,
                (kRowsAtOnce - rows_) * kernels::kPanel, 0.0);
  kernels::matrix_kernels().add_outer_products(panels_.row(0), panel_count, kRowsAtOnce,
                                               sums_.row(0), sums_.stride());
  rows_ = 0;
}

ClassScatter scatter_of(const BaseRows& base) {
  const Index dim = index(base.dim);
  ClassScatter result{
      .class_means = Dense(dim, index(base.by_class.size())), .mean = {}, .within = {}};
  Scatter within(base.dim);
  std::vector<double> row(padded(base.dim));
  Dense of_class;
  for (std::size_t c = 0; c < base.by_class.size(); ++c) {
    const std::vector<std::size_t>& members = base.by_class[c];
    result.rows += members.size();
    of_class.resize(dim, index(members.size()));
    for (std::size_t i = 0; i < members.size(); ++i) {
      base.read(members[i], row.data());
      of_class.col(index(i)) = Eigen::Map<const Eigen::VectorXd>(row.data(), dim);
    }
    result.class_means.col(index(c)) =
        of_class.rowwise().sum() / static_cast<double>(members.size());
    for (Index i = 0; i < of_class.cols(); ++i) {
      within.begin_row();
      for (Index d = 0; d < dim; ++d)
        within.set(static_cast<std::size_t>(d), of_class(d, i) - result.class_means(d, index(c)));
    }
  }
  const auto J = static_cast<double>(base.by_class.size());
  result.mean = result.class_means.rowwise().sum() / J;
  result.within = within.sums() / (static_cast<double>(result.rows) - J);
  return result;
}

}  // namespace deepvoro
