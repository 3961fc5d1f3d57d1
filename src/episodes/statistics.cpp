#include "deepvoro/episodes/statistics.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include "deepvoro/core/error.hpp"
#include "moments.hpp"

namespace deepvoro {

Estimate estimate(std::span<const double> values) {
  if (values.empty()) throw internal_error("the mean of no values was requested");
  const auto count = static_cast<double>(values.size());
  const auto [mean, squares] = moments(values);
  return {mean, 1.96 * std::sqrt(squares / count) / std::sqrt(count)};
}

Estimate paired_difference(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) throw internal_error("paired values must be equally many");
  std::vector<double> differences(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) differences[i] = a[i] - b[i];
  return estimate(differences);
}

}  // namespace deepvoro
