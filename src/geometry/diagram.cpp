#include "geometry/diagram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "deepvoro/core/error.hpp"
#include "kernels/kernels.hpp"

namespace deepvoro {

template <class Real>
VoronoiDiagram<Real>::VoronoiDiagram(MatrixView<const Real> centers)
    : centers_(centers.rows(), centers.cols()) {
  if (centers.rows() == 0 || centers.cols() == 0)
    throw usage_error("a diagram needs at least one center of at least one dimension");
  for (std::size_t k = 0; k < centers.rows(); ++k) std::ranges::copy(centers[k], centers_.row(k));
}

template <class Real>
Matrix<Real>& VoronoiDiagram<Real>::reshaped(std::size_t cells, std::size_t dim) {
  squared_norms_.clear();
  centers_.reshape(cells, dim);
  return centers_;
}

template <class Real>
void VoronoiDiagram<Real>::use_products() {
  if (!products_pay(cells(), centers_.cols())) return;
  squared_norms_.assign(cells(), Real{0});
  for (std::size_t k = 0; k < cells(); ++k)
    kernels::add_squared_norm(kernels::active(), centers_.row(k), centers_.stride(),
                              &squared_norms_[k]);
}

template <class Real>
void VoronoiDiagram<Real>::distances(const Real* query, std::span<double> out) const {
  kernels::squared_distances(kernels::active(), query, centers_.row(0), centers_.stride(), cells(),
                             centers_.stride(), out.data());
  for (double& value : out) value = std::sqrt(value);
}

template <class Real>
void VoronoiDiagram<Real>::distances(MatrixView<const Real> queries, MatrixView<Real> out) const {
  if (!squared_norms_.empty()) return distances_by_products(queries, out);
  std::vector<double> of_query(cells());
  for (std::size_t q = 0; q < queries.rows(); ++q) {
    distances(queries.row(q), of_query);
    for (std::size_t k = 0; k < cells(); ++k) out.row(k)[q] = static_cast<Real>(of_query[k]);
  }
}

template <class Real>
void VoronoiDiagram<Real>::distances_by_products(MatrixView<const Real> queries,
                                                 MatrixView<Real> out) const {
  const kernels::Table& table = kernels::active();
  const std::size_t count = queries.rows();
  for (std::size_t k = 0; k < cells(); ++k) std::fill_n(out.row(k), count, Real{0});
  std::vector<const Real*> query_rows(count);
  std::vector<const Real*> center_rows(cells());
  std::vector<Real> query_norms(count);
  for (std::size_t q = 0; q < count; ++q) {
    query_rows[q] = queries.row(q);
    kernels::add_squared_norm(table, queries.row(q), queries.stride(), &query_norms[q]);
  }
  for (std::size_t k = 0; k < cells(); ++k) center_rows[k] = centers_.row(k);
  kernels::add_dots(table, kernels::DotProducts<Real>{.queries = query_rows.data(),
                                                      .query_count = count,
                                                      .centers = center_rows.data(),
                                                      .center_count = cells(),
                                                      .length = centers_.stride(),
                                                      .out = out.row(0),
                                                      .center_stride = out.stride()});
  std::vector<Real> norms(count);
  std::vector<Real> dots(count);
  for (std::size_t k = 0; k < cells(); ++k) {
    std::copy_n(out.row(k), count, dots.begin());
    for (std::size_t q = 0; q < count; ++q) norms[q] = query_norms[q] + squared_norms_[k];
    if (!kernels::distances(table, norms.data(), dots.data(), count, out.row(k))) continue;
    for (std::size_t q = 0; q < count; ++q)
      if (kernels::loses_digits(norms[q], dots[q]))
        out.row(k)[q] = by_differences(queries.row(q), k);
  }
}

template <class Real>
Real VoronoiDiagram<Real>::by_differences(const Real* query, std::size_t k) const {
  double squared = 0;
  kernels::squared_distances(kernels::active(), query, centers_.row(k), centers_.stride(), 1,
                             centers_.stride(), &squared);
  return static_cast<Real>(std::sqrt(squared));
}

template <class Real>
std::size_t VoronoiDiagram<Real>::cell(std::span<const Real> query) const {
  if (query.size() != centers_.cols())
    throw usage_error(
        fmt::format("the query has {} dimensions, the diagram {}", query.size(), centers_.cols()));
  Matrix<Real> padded_query(1, query.size());
  std::ranges::copy(query, padded_query.row(0));
  std::vector<double> of_query(cells());
  distances(padded_query.row(0), of_query);
  return static_cast<std::size_t>(std::ranges::min_element(of_query) - of_query.begin());
}

template class VoronoiDiagram<float>;
template class VoronoiDiagram<double>;

}  // namespace deepvoro
