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

std::vector<const double*> pointers_to(const Matrix<double>& points) {
  std::vector<const double*> pointers(points.rows());
  for (std::size_t i = 0; i < pointers.size(); ++i) pointers[i] = points.row(i);
  return pointers;
}

double center_share(std::size_t classes) {
  return static_cast<double>(classes) / (static_cast<double>(classes) + kHalfCentred);
}

Matrix<double> represented(const Representation& representation, ViewRows views, unsigned threads) {
  Matrix<double> samples(views.front().rows(), views.front().cols());
  constexpr std::size_t rows_at_once = 8;
  parallel_for(threads, samples.rows(), rows_at_once,
               [&](std::size_t begin, std::size_t end, unsigned) {
                 for (std::size_t i = begin; i < end; ++i)
                   represent(representation, views, i, samples.row(i));
               });
  return samples;
}

std::vector<double> represented(const Representation& representation, ViewRows views,
                                std::size_t row) {
  std::vector<double> sample(padded(views.front().cols()));
  represent(representation, views, row, sample.data());
  return sample;
}

PointSpace::PointSpace(double exponent, const BackboneStatistics* statistics)
    : space_(backbone_space_of(exponent, statistics)) {}

void PointSpace::fit(Matrix<double>& samples, std::span<const std::size_t> labels,
                     std::size_t classes) {
  std::vector<std::vector<const double*>> by_class(classes);
  for (std::size_t i = 0; i < samples.rows(); ++i) {
    make_even(samples.row(i));
    by_class[labels[i]].push_back(samples.row(i));
  }
  center_.assign(samples.stride(), 0);
  std::vector<double> mean(samples.stride());
  for (const auto& of_class : by_class) {
    kernels::mean(kernels::active(), of_class.data(), of_class.size(), mean.size(), mean.data());
    kernels::accumulate(kernels::active(), mean.data(), mean.size(), center_.data());
  }
  for (double& value : center_) value *= center_share(classes) / static_cast<double>(classes);
  for (std::size_t i = 0; i < samples.rows(); ++i) centre(samples.row(i));
}

void PointSpace::place(double* sample) const {
  make_even(sample);
  centre(sample);
}

void PointSpace::make_even(double* sample) const {
  space_.take_off_mean(sample);
  space_.shrink(sample);
}

void PointSpace::centre(double* sample) const {
  for (std::size_t i = 0; i < center_.size(); ++i) sample[i] -= center_[i];
  to_unit(sample, center_.size());
}

PlainSpace::PlainSpace(const BackboneStatistics* statistics)
    : space_(backbone_space_of(kPointExponents.front(), statistics)) {}

void PlainSpace::place(double* sample, std::size_t dim) const {
  space_.shrink(sample);
  to_unit(sample, padded(dim));
}

}  // namespace deepvoro
