#include "study/paper/line_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace deepvoro {

LineFit fit_line(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (!(xx > 0) || !(yy > 0)) return {};
  LineFit fit{.slope = xy / xx, .r = xy / std::sqrt(xx * yy)};
  if (x.size() > 2) {
    const double residuals = std::max(0.0, yy - xy * xy / xx);
    constexpr double normal_quantile = 1.96;
    fit.slope_ci95 = normal_quantile * std::sqrt(residuals / (n - 2) / xx);
  }
  return fit;
}

}  // namespace deepvoro
