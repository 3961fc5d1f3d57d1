#include "deepvoro/episodes/reliability.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace deepvoro {

double expected_calibration_error(std::span<const double> confidence,
                                  std::span<const std::uint8_t> correct, std::size_t bins) {
  std::vector<double> gaps(bins);  // sum of confidences less right answers
  for (std::size_t i = 0; i < confidence.size(); ++i) {
    const double place = std::ceil(confidence[i] * static_cast<double>(bins)) - 1;
    const auto bin =
        static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(bins - 1)));
    gaps[bin] += confidence[i] - (correct[i] != 0 ? 1 : 0);
  }
  double sum = 0;
  for (const double gap : gaps) sum += std::abs(gap);
  return sum / static_cast<double>(confidence.size());
}

double area_under_roc(std::span<const double> high, std::span<const double> low) {
  std::vector<double> sorted(low.begin(), low.end());
  std::ranges::sort(sorted);
  double above = 0;
  for (const double value : high) {
    const auto first = std::ranges::lower_bound(sorted, value);
    const auto last = std::ranges::upper_bound(sorted, value);
    above += static_cast<double>(first - sorted.begin()) + 0.5 * static_cast<double>(last - first);
  }
  return above / static_cast<double>(high.size()) / static_cast<double>(low.size());
}

}  // namespace deepvoro
