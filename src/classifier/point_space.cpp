#include "point_space.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "kernels/kernels.hpp"

namespace deepvoro {
namespace {

// With so many classes, half of the mean of the classes is taken off.
constexpr double kHalfCentred = 5;
constexpr std::size_t kSampleGrain = 8;

BackboneSpace backbone_space_of(double exponent, const BackboneStatistics* statistics) {
  const auto found = std::ranges::find(kPointExponents, exponent);
  if (found == kPointExponents.end())
    throw data_error(fmt::format("{} is not an exponent that points can have", exponent));
  if (statistics == nullptr) return {};
  return BackboneSpace(
      statistics->spaces[static_cast<std::size_t>(found - kPointExponents.begin())]);
}

void represent(const Representation& representation, ViewRows views, std::size_t row, double* out) {
  std::vector<Representation::Row> rows;
  for (const MatrixView<const float>& view : views)
    rows.push_back({ElementType::float32, reinterpret_cast<const std::byte*>(view.row(row))});
  representation.of(rows, views.front().cols(), out);
}

}  // namespace

PointSpace::PointSpace(double exponent, const BackboneStatistics* statistics)
    : representation_(exponent), space_(backbone_space_of(exponent, statistics)) {}

Matrix<double> PointSpace::fit(const ViewedSamples& support, unsigned threads) {
  Matrix<double> points(support.labels.size(), support.rows.front().cols());
  parallel_for(threads, points.rows(), kSampleGrain,
               [&](std::size_t begin, std::size_t end, unsigned) {
                 for (std::size_t i = begin; i < end; ++i) map(support.rows, i, points.row(i));
               });
  std::vector<std::vector<const double*>> by_class(support.classes);
  for (std::size_t i = 0; i < points.rows(); ++i)
    by_class[support.labels[i]].push_back(points.row(i));
  center_.assign(points.stride(), 0);
  std::vector<double> mean(points.stride());
  for (const auto& of_class : by_class) {
    kernels::mean(kernels::active(), of_class.data(), of_class.size(), mean.size(), mean.data());
    kernels::accumulate(kernels::active(), mean.data(), mean.size(), center_.data());
  }
  // That is, of the mean of the classes the part classes/(classes + 5).
  for (double& value : center_) value /= static_cast<double>(support.classes) + kHalfCentred;
  for (std::size_t i = 0; i < points.rows(); ++i) centre(points.row(i));
  return points;
}

std::vector<double> PointSpace::point(ViewRows views, std::size_t row) const {
  std::vector<double> point(center_.size());
  map(views, row, point.data());
  centre(point.data());
  return point;
}

void PointSpace::centre(double* point) const {
  for (std::size_t i = 0; i < center_.size(); ++i) point[i] -= center_[i];
  to_unit(point, center_.size());
}

void PointSpace::map(ViewRows views, std::size_t row, double* out) const {
  represent(representation_, views, row, out);
  space_.take_off_mean(out);
  space_.shrink(out);
}

PlainSpace::PlainSpace(const BackboneStatistics* statistics)
    : representation_(kPointExponents.front()),
      space_(backbone_space_of(kPointExponents.front(), statistics)) {}

Matrix<double> PlainSpace::points(ViewRows views, unsigned threads) const {
  Matrix<double> points(views.front().rows(), views.front().cols());
  parallel_for(threads, points.rows(), kSampleGrain,
               [&](std::size_t begin, std::size_t end, unsigned) {
                 for (std::size_t i = begin; i < end; ++i) map(views, i, points.row(i));
               });
  return points;
}

std::vector<double> PlainSpace::point(ViewRows views, std::size_t row) const {
  std::vector<double> point(padded(views.front().cols()));
  map(views, row, point.data());
  return point;
}

void PlainSpace::map(ViewRows views, std::size_t row, double* out) const {
  represent(representation_, views, row, out);
  space_.shrink(out);
  to_unit(out, padded(views.front().cols()));
}

}  // namespace deepvoro
