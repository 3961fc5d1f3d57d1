#include "geometry/principal_plane.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "eigenvectors.hpp"

namespace deepvoro {
namespace {

// Below this part of the largest, what is left is rounding.
constexpr double kLeastVariance = 1e-12;

}  // namespace

// By the products of rows with each other: there are fewer of them than dimensions, or not many
// more.
PrincipalPlane::PrincipalPlane(MatrixView<const double> rows) : mean_(rows.cols()) {
  const Index count = index(rows.rows());
  for (std::size_t r = 0; r < rows.rows(); ++r)
    for (std::size_t d = 0; d < mean_.size(); ++d) mean_[d] += rows[r][d];
  for (double& value : mean_) value /= static_cast<double>(rows.rows());
  std::vector<std::vector<double>> centered;
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    centered.emplace_back(rows[r].begin(), rows[r].end());
    std::ranges::transform(centered.back(), mean_, centered.back().begin(), std::minus{});
  }
  Dense products(count, count);
  for (std::size_t i = 0; i < centered.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double dot =
          std::inner_product(centered[i].begin(), centered[i].end(), centered[j].begin(), 0.0);
      products(index(i), index(j)) = dot;
      products(index(j), index(i)) = dot;
    }
  for (std::vector<double>& axis : axes_) axis.assign(mean_.size(), 0);
  if (count < 2) return;
  const Eigenvectors eigen(products);
  Dense vectors = eigen.basis();
  eigen.turn(vectors);
  std::vector<Index> order(centered.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, std::greater{}, [&](Index i) { return eigen.values()[i]; });
  const double largest = eigen.values()[order.front()];
  for (std::size_t a = 0; a < std::min(axes_.size(), order.size()); ++a) {
    const double value = eigen.values()[order[a]];
    if (!(value > kLeastVariance * largest)) continue;
    std::vector<double>& axis = axes_[a];
    for (std::size_t r = 0; r < centered.size(); ++r)
      for (std::size_t d = 0; d < axis.size(); ++d)
        axis[d] += vectors(index(r), order[a]) * centered[r][d] / std::sqrt(value);
    const double leading =
        *std::ranges::max_element(axis, {}, [](double x) { return std::abs(x); });
    if (leading < 0)
      for (double& element : axis) element = -element;
  }
}

PlanePoint PrincipalPlane::operator()(const double* row) const {
  PlanePoint point{};
  for (std::size_t a = 0; a < axes_.size(); ++a)
    for (std::size_t d = 0; d < mean_.size(); ++d) point[a] += (row[d] - mean_[d]) * axes_[a][d];
  return point;
}

}  // namespace deepvoro
