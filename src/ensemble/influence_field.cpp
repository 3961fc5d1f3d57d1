#include "deepvoro/ensemble/influence_field.hpp"

#include <algorithm>

namespace deepvoro {

std::uint32_t correct_queries(std::span<const double> terms, const EpisodeShape& shape,
                              Influence influence) {
  // F is the sum of terms times a sign, so the largest F is the smallest or the largest sum.
  const bool smallest_wins = influence.sign() < 0;
  std::uint32_t correct = 0;
  for (std::size_t q = 0; q < shape.total_queries(); ++q) {
    const auto of_query = terms.subspan(q * shape.ways, shape.ways);
    const auto winner =
        smallest_wins ? std::ranges::min_element(of_query) : std::ranges::max_element(of_query);
    const auto true_class = q / shape.queries;
    if (static_cast<std::size_t>(winner - of_query.begin()) == true_class) ++correct;
  }
  return correct;
}

InfluenceField::InfluenceField(std::size_t episodes, const EpisodeShape& shape, Influence influence)
    : shape_(shape), influence_(influence), sums_(episodes * values_per_episode(shape)) {}

void InfluenceField::add(std::size_t episode, std::span<const double> terms) {
  double* sums = sums_.data() + episode * terms.size();
  for (std::size_t i = 0; i < terms.size(); ++i) sums[i] += terms[i];
}

void InfluenceField::scores(std::size_t episode, std::span<double> out) const {
  const double* sums = sums_.data() + episode * out.size();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = influence_.sign() * sums[i];
}

std::uint32_t InfluenceField::correct_queries(std::size_t episode) const {
  const std::size_t size = values_per_episode(shape_);
  return deepvoro::correct_queries({sums_.data() + episode * size, size}, shape_, influence_);
}

}  // namespace deepvoro
