#include "class_means.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernels.hpp"

namespace deepvoro {
namespace {

// As many samples as what is thought before counts for: the usual variance, and that of all classes
// for a single one.
constexpr double kUsualVarianceWeight = 4;
constexpr double kCommonVarianceWeight = 10;

}  // namespace

ClassMeans::ClassMeans(const LabelledPoints& support, double usual_variance)
    : means_(support.classes, support.dim), counts_(support.classes) {
  std::vector<std::vector<const double*>> by_class(support.classes);
  for (std::size_t i = 0; i < support.points.size(); ++i)
    by_class[support.labels[i]].push_back(support.points[i]);
  const kernels::Table& kernels = kernels::active();
  std::vector<double> squares(support.classes);
  double all_squares = 0;
  for (std::size_t k = 0; k < support.classes; ++k) {
    counts_[k] = static_cast<double>(by_class[k].size());
    kernels::mean(kernels, by_class[k].data(), by_class[k].size(), means_.stride(), means_.row(k));
    for (const double* point : by_class[k]) {
      double square = 0;
      kernels::squared_distances(kernels, point, means_.row(k), means_.stride(), 1, means_.stride(),
                                 &square);
      squares[k] += square;
    }
    all_squares += squares[k];
  }
  variance_ = (kUsualVarianceWeight * usual_variance + all_squares) /
              (kUsualVarianceWeight + static_cast<double>(support.points.size() - support.classes));
  for (std::size_t k = 0; k < support.classes; ++k)
    class_variances_.push_back((kCommonVarianceWeight * variance_ + squares[k]) /
                               (kCommonVarianceWeight + counts_[k] - 1));
}

void ClassMeans::squared_distances(const double* point, std::span<double> out) const {
  kernels::squared_distances(kernels::active(), point, means_.row(0), means_.stride(), classes(),
                             means_.stride(), out.data());
}

double ClassMeans::temperature_factor(std::span<const double> squared_distances) const {
  constexpr double near = 0.5;  // of what is usual
  constexpr double nearest = 0.02;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < classes(); ++k)
    least = std::min(least, squared_distances[k] / (variance_ * (1 + 1 / counts_[k])));
  if (least >= near) return 1;
  const double root = std::sqrt(std::max(least, nearest) / near);
  return root * std::sqrt(root);  // the power 3/4, with the same bits everywhere
}

}  // namespace deepvoro
