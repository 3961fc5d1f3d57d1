#include "points.hpp"

#include <algorithm>
#include <cmath>

#include "deepvoro/core/parallel.hpp"
#include "kernels/kernels.hpp"

namespace deepvoro {

template <class Real>
MappedPoints<Real>::MappedPoints(const RowTransformer& transformer, std::size_t rows,
                                 std::size_t dim, const Space& space, std::size_t shots,
                                 unsigned threads)
    : points_(rows, dim) {
  const std::size_t length = points_.stride();
  const Metric metric = space.metric(shots);
  // A row is sqrt(query_scale * center_scale) times its point, so that products are right.
  std::vector<Real> common(length, Real{1});
  if (!metric.query_scale.empty()) {
    // Blocks of columns may reach beyond the last.
    scales_.of_queries.assign(length + kernels::kQuickLength, Real{0});
    scales_.of_centers.assign(length + kernels::kQuickLength, Real{0});
    for (std::size_t i = 0; i < dim; ++i) {
      const double query = metric.query_scale[i];
      const double center = metric.center_scale[i];
      common[i] = static_cast<Real>(std::sqrt(query * center));
      scales_.of_queries[i] = static_cast<Real>(std::sqrt(query / center));
      scales_.of_centers[i] = static_cast<Real>(std::sqrt(center / query));
    }
  }
  std::vector<double> taken_off(length);
  std::ranges::copy(transformer.center(), taken_off.begin());
  constexpr std::size_t grain = 32;
  parallel_for(threads, rows, grain, [&](std::size_t begin, std::size_t end, unsigned) {
    std::vector<double> scratch(length);
    Matrix<Real> transformed(end - begin, dim);
    for (std::size_t row = begin; row < end; ++row)
      transformer.columns(row, 0, length, scratch.data(), transformed.row(row - begin));
    const MatrixView<Real> out(points_.row(begin), end - begin, dim, length);
    space.map(MatrixView<const Real>(transformed.view()), taken_off.data(), out);
    if (scales_.of_queries.empty()) return;
    for (std::size_t row = 0; row < out.rows(); ++row)
      for (std::size_t i = 0; i < dim; ++i) out.row(row)[i] *= common[i];
  });
}

template <class Real>
void MappedPoints<Real>::columns(std::size_t row, std::size_t begin, std::size_t count,
                                 double* /*scratch*/, Real* out) const {
  const std::size_t end = std::min(begin + count, points_.stride());
  std::copy(points_.row(row) + begin, points_.row(row) + end, out);
  std::fill(out + (end - begin), out + count, Real{0});
}

template <class Real>
void MappedPoints<Real>::block(std::size_t first_row, std::size_t begin, double* scratch,
                               MatrixView<Real> out) const {
  for (std::size_t r = 0; r < out.rows(); ++r)
    columns(first_row + r, begin, out.stride(), scratch, out.row(r));
}

template class MappedPoints<float>;
template class MappedPoints<double>;

}  // namespace deepvoro
