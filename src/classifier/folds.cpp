#include "folds.hpp"

#include <algorithm>

namespace deepvoro {
namespace {

constexpr std::size_t kFolds = 5;
// More would cost much and sharpen the temperature no further.
constexpr std::size_t kMostSamples = 2000;

std::vector<std::size_t> class_counts(std::span<const std::size_t> labels, std::size_t classes) {
  std::vector<std::size_t> counts(classes);
  for (const std::size_t label : labels) ++counts[label];
  return counts;
}

double harmonic_mean(std::span<const std::size_t> counts) {
  double sum = 0;
  for (const std::size_t count : counts) sum += 1 / static_cast<double>(count);
  return static_cast<double>(counts.size()) / sum;
}

// The most samples of a class that can take part.
std::size_t most_per_class(std::span<const std::size_t> counts) {
  const auto together = [&](std::size_t most) {
    std::size_t sum = 0;
    for (const std::size_t count : counts) sum += std::min(count, most);
    return sum;
  };
  std::size_t most = *std::ranges::max_element(counts);
  while (most > 2 && together(most) > kMostSamples) --most;
  return most;
}

}  // namespace

std::vector<Fold> folds_of(std::span<const std::size_t> labels, std::size_t classes) {
  if (classes < 2 || labels.size() == classes) return {};
  const std::vector<std::size_t> counts = class_counts(labels, classes);
  std::vector<Fold> folds(std::min(kFolds, *std::ranges::max_element(counts)));
  std::vector<std::size_t> seen(classes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::size_t number = seen[labels[i]]++ % kFolds;
    for (std::size_t f = 0; f < folds.size(); ++f) {
      const bool is_out = f == number && counts[labels[i]] > 1;
      (is_out ? folds[f].out : folds[f].in).push_back(i);
    }
  }
  return folds;
}

double mean_shots(std::span<const std::size_t> labels, std::size_t classes) {
  return harmonic_mean(class_counts(labels, classes));
}

double shots_in_folds(std::span<const std::size_t> labels, std::size_t classes) {
  std::vector<std::size_t> counts = class_counts(labels, classes);
  std::erase(counts, std::size_t{1});
  const auto parts = static_cast<double>(std::min(kFolds, *std::ranges::max_element(counts)));
  return std::max(1.0, harmonic_mean(counts) * (1 - 1 / parts));
}

std::vector<std::size_t> enough_samples(std::span<const std::size_t> labels, std::size_t classes) {
  std::vector<std::vector<std::size_t>> by_class(classes);
  for (std::size_t i = 0; i < labels.size(); ++i) by_class[labels[i]].push_back(i);
  const std::size_t most = most_per_class(class_counts(labels, classes));
  std::vector<std::size_t> some;
  for (const auto& of_class : by_class) {
    const std::size_t count = std::min(most, of_class.size());
    for (std::size_t j = 0; j < count; ++j) some.push_back(of_class[j * of_class.size() / count]);
  }
  return some;
}

}  // namespace deepvoro
