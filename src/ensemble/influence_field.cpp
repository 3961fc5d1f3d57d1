#include "ensemble/influence_field.hpp"

#include <algorithm>
#include <array>

namespace deepvoro {
namespace {

// So many queries are looked at side by side, as they lie.
constexpr std::size_t kTogether = 16;

}  // namespace

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
  for (std::size_t begin = 0; begin < sums_.cols(); begin += kTogether) {
    const std::size_t end = std::min(begin + kTogether, sums_.cols());
    for (std::size_t k = 0; k < shape_.ways; ++k) {
      const double* of_way = sums_.row(episode * shape_.ways + k);
      for (std::size_t q = begin; q < end; ++q)
        out[q * shape_.ways + k] = influence_.sign() * of_way[q];
    }
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
    for (std::size_t begin = 0; begin < shape.queries; begin += kTogether) {
      const std::size_t first = way * shape.queries + begin;
      const std::size_t count = std::min(kTogether, shape.queries - begin);
      const Real* of_true = terms.row(way) + first;
      std::array<std::uint32_t, kTogether> wins;
      wins.fill(1);
      for (std::size_t k = 0; k < shape.ways; ++k) {
        const Real* of_other = terms.row(k) + first;
        for (std::size_t q = 0; q < count; ++q) {
          const Real own = sign * of_true[q];
          const Real other = sign * of_other[q];
          wins[q] &= (k < way ? own > other : own >= other) ? 1U : 0U;
        }
      }
      for (std::size_t q = 0; q < count; ++q) correct += wins[q];
    }
  return correct;
}

template std::uint32_t correct_queries(MatrixView<const float>, const EpisodeShape&, Influence);
template std::uint32_t correct_queries(MatrixView<const double>, const EpisodeShape&, Influence);

}  // namespace deepvoro
