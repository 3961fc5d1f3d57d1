#include "point_logistic.hpp"

#include <algorithm>
#include <vector>

#include "core/matrix.hpp"

namespace deepvoro {
namespace {

// What points of unit length are multiplied by, so that the steps of the training carry as far as
// hundreds of samples of a class allow.
constexpr double kLength = 3;

void lengthened(const double* point, std::size_t stride, double* out) {
  std::transform(point, point + stride, out, [](double value) { return kLength * value; });
}

}  // namespace

PointLogistic::PointLogistic(const LabelledPoints& support)
    : stride_(padded(support.dim)), head_({.kind = LogisticKind::power}) {
  std::vector<std::size_t> begins(support.classes + 1);
  for (const std::size_t label : support.labels) ++begins[label + 1];
  std::size_t most = 0;
  for (std::size_t k = 0; k < support.classes; ++k) {
    most = std::max(most, begins[k + 1]);
    begins[k + 1] += begins[k];
  }
  std::vector<std::size_t> next(begins.begin(), begins.end() - 1);
  Matrix<double> rows(support.points.size(), support.dim);
  for (std::size_t i = 0; i < support.points.size(); ++i)
    lengthened(support.points[i], stride_, rows.row(next[support.labels[i]]++));
  head_.fit({.rows = rows.view(), .ways = support.classes, .shots = most, .begins = begins});
}

void PointLogistic::scores(const double* point, std::span<double> out) const {
  std::vector<double> longer(stride_);
  lengthened(point, stride_, longer.data());
  head_.influence(longer.data(), out);
}

}  // namespace deepvoro
