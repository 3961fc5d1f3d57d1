#include "deepvoro/geometry/surrogate.hpp"

#include <algorithm>
#include <numeric>

namespace deepvoro {
namespace {

double reciprocal_of_sum(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum > 0 ? 1 / sum : 0;
}

}  // namespace

void SurrogateClasses::select(MatrixView<const double> distances, std::size_t largest_R) {
  const std::size_t bases = distances.cols();
  const std::size_t levels = std::min(largest_R, bases);
  const std::size_t never = levels + 1;
  joins_at_.assign(bases, never);
  order_.resize(bases);
  for (std::size_t k = 0; k < distances.rows(); ++k) {
    const std::span<const double> of_prototype = distances[k];
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    const auto nearer = [&](std::size_t a, std::size_t b) {
      return of_prototype[a] != of_prototype[b] ? of_prototype[a] < of_prototype[b] : a < b;
    };
    std::ranges::partial_sort(order_, order_.begin() + static_cast<std::ptrdiff_t>(levels), nearer);
    for (std::size_t place = 0; place < levels; ++place)
      joins_at_[order_[place]] = std::min(joins_at_[order_[place]], place + 1);
  }

  joined_.clear();
  begin_.assign(1, 0);
  for (std::size_t R = 1; R <= levels; ++R) {
    for (std::size_t t = 0; t < bases; ++t)
      if (joins_at_[t] == R) joined_.push_back(t);
    begin_.push_back(joined_.size());
  }
}

std::span<const std::size_t> SurrogateClasses::joining_at(std::size_t R) const {
  if (R >= begin_.size()) return {};
  return {joined_.data() + begin_[R - 1], begin_[R] - begin_[R - 1]};
}

void combine_representations(std::span<const double> d, std::span<const double> surrogate_d,
                             double beta, double gamma, std::span<double> out) {
  const double feature_scale = beta * reciprocal_of_sum(d);
  const double surrogate_scale = gamma * reciprocal_of_sum(surrogate_d);
  for (std::size_t k = 0; k < out.size(); ++k)
    out[k] = feature_scale * d[k] + surrogate_scale * surrogate_d[k];
}

}  // namespace deepvoro
