#include "class_likeness.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace deepvoro {

ClassLikeness ClassLikeness::of(const Matrix<double>& products, std::span<const std::size_t> labels,
                                std::size_t classes, const Prior& prior) {
  if (classes < 2) return {};
  std::vector<double> counts(classes);
  for (const std::size_t label : labels) ++counts[label];
  const double pairs = static_cast<double>(classes) * static_cast<double>(classes - 1) / 2;
  // The mean over pairs of points of different classes, pairs of classes counting the same.
  const auto mean_of = [&](const auto& value) {
    double sum = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      double of_point = 0;
      for (std::size_t j = 0; j < i; ++j)
        if (labels[i] != labels[j]) of_point += value(products.row(i)[j]) / counts[labels[j]];
      sum += of_point / counts[labels[i]];
    }
    return sum / pairs;
  };
  const double mean = mean_of([](double product) { return product; });
  const double variance =
      mean_of([&](double product) { return (product - mean) * (product - mean); });
  return {mean, std::sqrt((prior.pairs * prior.deviation * prior.deviation + pairs * variance) /
                          (prior.pairs + pairs))};
}

double ClassLikeness::usual_variance() const {
  constexpr double least = 0.1;
  constexpr double of_unlike = 0.83;
  constexpr double of_deviation = 1.22;
  return std::max(least, of_unlike * (1 - mean) - of_deviation * deviation);
}

double ClassLikeness::usual_temperature(double shots, std::size_t classes) const {
  constexpr double of_many = 0.58;
  constexpr double of_few_shots = 0.39;
  constexpr double of_few_classes = 1.1;
  return deviation *
         (of_many + of_few_shots / shots + of_few_classes / static_cast<double>(classes));
}

}  // namespace deepvoro
