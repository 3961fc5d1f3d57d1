#include "point_logistic.hpp"

#include <algorithm>
#include <vector>

#include "core/matrix.hpp"

namespace deepvoro {

PointLogistic::PointLogistic(const LabelledPoints& support) : head_({.kind = LogisticKind::power}) {
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
    std::copy_n(support.points[i], rows.stride(), rows.row(next[support.labels[i]]++));
  head_.fit({.rows = rows.view(), .ways = support.classes, .shots = most, .begins = begins});
}

}  // namespace deepvoro
