#include "ensemble/influence_field.hpp"

namespace deepvoro {

InfluenceField::InfluenceField(std::size_t episodes, const EpisodeShape& shape, Influence influence)
    : shape_(shape), influence_(influence), sums_(episodes * shape.ways, shape.total_queries()) {}

MatrixView<double> InfluenceField::sums(std::size_t episode) {
  return {sums_.row(episode * shape_.ways), shape_.ways, sums_.cols(), sums_.stride()};
}

void InfluenceField::add(std::size_t episode, std::span<const double> terms) {
  const MatrixView<double> of_episode = sums(episode);
  for (std::size_t q = 0; q < of_episode.cols(); ++q)
    for (std::size_t k = 0; k < shape_.ways; ++k) of_episode[k][q] += terms[q * shape_.ways + k];
}

void InfluenceField::scores(std::size_t episode, std::span<double> out) const {
  for (std::size_t k = 0; k < shape_.ways; ++k) {
    const double* of_way = sums_.row(episode * shape_.ways + k);
    for (std::size_t q = 0; q < sums_.cols(); ++q)
      out[q * shape_.ways + k] = influence_.sign() * of_way[q];
  }
}

std::uint32_t InfluenceField::correct_queries(std::size_t episode) const {
  const MatrixView<const double> sums(sums_.row(episode * shape_.ways), shape_.ways, sums_.cols(),
                                      sums_.stride());
  return deepvoro::correct_queries(sums, shape_, influence_);
}

template <class Real>
std::uint32_t correct_queries(MatrixView<const Real> terms, const EpisodeShape& shape,
                              Influence influence) {
  const auto sign = static_cast<Real>(influence.sign());
  std::uint32_t correct = 0;
  for (std::size_t way = 0; way < shape.ways; ++way)
    for (std::size_t q = way * shape.queries; q < (way + 1) * shape.queries; ++q) {
      const Real* of_query = terms.data() + q;
      const Real of_true = sign * of_query[way * terms.stride()];
      bool is_largest = true;
      for (std::size_t k = 0; k < shape.ways; ++k) {
        const Real of_other = sign * of_query[k * terms.stride()];
        is_largest &= k < way ? of_true > of_other : of_true >= of_other;
      }
      correct += is_largest ? 1 : 0;
    }
  return correct;
}

template std::uint32_t correct_queries(MatrixView<const float>, const EpisodeShape&, Influence);
template std::uint32_t correct_queries(MatrixView<const double>, const EpisodeShape&, Influence);

}  // namespace deepvoro
