#include "deepvoro/episodes/class_bootstrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "deepvoro/core/error.hpp"
#include "moments.hpp"

namespace deepvoro {
namespace {

// How far each class moves the mean.
std::vector<double> shares_of_classes(std::span<const double> values, double mean,
                                      std::span<const std::size_t> classes_of,
                                      std::size_t classes) {
  const std::size_t ways = classes_of.size() / values.size();
  const double scale = static_cast<double>(classes - 1) / static_cast<double>(classes - ways) /
                       static_cast<double>(values.size());
  std::vector<double> shares(classes);
  for (std::size_t i = 0; i < classes_of.size(); ++i)
    shares.at(classes_of[i]) += (values[i / ways] - mean) * scale;
  return shares;
}

double percentile(const std::vector<double>& ascending, double percent) {
  const double place = percent / 100 * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  return ascending[below] +
         (place - static_cast<double>(below)) * (ascending[above] - ascending[below]);
}

}  // namespace

Interval class_bootstrap(std::span<const double> values, std::span<const std::size_t> classes_of,
                         std::size_t classes) {
  if (values.empty() || classes_of.size() % values.size() != 0)
    throw internal_error("a bootstrap over classes needs episodes, and as many classes in each");
  if (classes_of.size() / values.size() >= classes)
    throw data_error(fmt::format(
        "every episode has all {} classes; intervals by class need fewer ways", classes));
  const double mean = moments(values).mean;
  const std::vector<double> shares = shares_of_classes(values, mean, classes_of, classes);
  LegacyRandom random(0);
  std::vector<double> means(kClassResamples);
  for (double& resampled : means) {
    resampled = mean;
    for (std::size_t draw = 0; draw < classes; ++draw)
      resampled += shares[static_cast<std::size_t>(
          std::floor(static_cast<double>(classes) * random.uniform(0, 1)))];
  }
  std::ranges::sort(means);
  return {percentile(means, 2.5), percentile(means, 97.5)};
}

}  // namespace deepvoro
