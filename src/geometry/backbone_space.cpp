#include "backbone_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "deepvoro/core/error.hpp"
#include "eigenvectors.hpp"
#include "kernels/kernels.hpp"
#include "scatter.hpp"

namespace deepvoro {
namespace {

// Variances are drawn so far towards their mean before they are made even.
constexpr double kEvenness = 0.8;

}  // namespace

void to_unit(double* point, std::size_t length) {
  double squares = 0;
  kernels::add_squared_norm(kernels::active(), point, length, &squares);
  if (!(squares > 0)) return;
  const double norm = std::sqrt(squares);
  std::transform(point, point + length, point, [&](double value) { return value / norm; });
}

BackboneSpace::BackboneSpace(const SpaceStatistics& statistics)
    : mean_(1, statistics.dim()),
      directions_(statistics.shrinkage.size(), statistics.dim()),
      shrinkage_(statistics.shrinkage) {
  const std::size_t dim = statistics.dim();
  std::ranges::copy(statistics.mean, mean_.row(0));
  for (std::size_t j = 0; j < shrinkage_.size(); ++j)
    std::copy_n(statistics.directions.data() + j * dim, dim, directions_.row(j));
}

void BackboneSpace::take_off_mean(double* point) const {
  for (std::size_t i = 0; i < mean_.cols(); ++i) point[i] -= mean_.row(0)[i];
}

void BackboneSpace::shrink(double* point) const {
  if (shrinkage_.empty()) return;
  const kernels::Table& kernels = kernels::active();
  std::vector<const double*> directions(shrinkage_.size());
  for (std::size_t j = 0; j < directions.size(); ++j) directions[j] = directions_.row(j);
  std::vector<double> along(directions.size());
  kernels::add_dots(kernels, kernels::DotProducts<double>{.queries = directions.data(),
                                                          .query_count = directions.size(),
                                                          .centers = &point,
                                                          .center_count = 1,
                                                          .length = directions_.stride(),
                                                          .out = along.data()});
  for (std::size_t j = 0; j < directions.size(); ++j)
    kernels::combine(kernels, 1.0, point, -shrinkage_[j] * along[j], directions[j],
                     directions_.stride(), point);
}

SpaceStatistics SpaceStatistics::of(const BaseRows& points) {
  const bool varies =
      std::ranges::any_of(points.by_class, [](const auto& c) { return c.size() > 1; });
  const auto fail = [&] {
    return data_error(fmt::format(
        "{}: statistics are made of what differs between samples of one class; some class needs 2 "
        "different samples or more",
        points.origin));
  };
  if (!varies) throw fail();
  const ClassScatter scatter = scatter_of(points);
  const double mean_variance = scatter.within.trace() / static_cast<double>(points.dim);
  if (!(mean_variance > 0)) throw fail();
  const Eigenvectors eigen(scatter.within);
  Dense vectors = eigen.basis();
  eigen.turn(vectors);
  std::vector<Index> order(points.dim);
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](Index j) { return eigen.values()[j]; });
  order.resize(std::min(order.size(), kDirections));

  SpaceStatistics statistics{
      .mean = {scatter.mean.begin(), scatter.mean.end()}, .directions = {}, .shrinkage = {}};
  for (const Index j : order) {
    const double variance = std::max(eigen.values()[j], 0.0);
    const double mean_part = kEvenness * mean_variance;
    statistics.shrinkage.push_back(1 -
                                   std::sqrt(mean_part / ((1 - kEvenness) * variance + mean_part)));
    statistics.directions.insert(statistics.directions.end(), vectors.col(j).begin(),
                                 vectors.col(j).end());
  }
  return statistics;
}

}  // namespace deepvoro
