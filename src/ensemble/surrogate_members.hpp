#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deepvoro/core/matrix.hpp"
#include "deepvoro/episodes/episode.hpp"
#include "deepvoro/geometry/surrogate.hpp"
#include "deepvoro/kernels/kernels.hpp"

namespace deepvoro {

// What all surrogate members of one view and transformation share: base prototypes, and the
// distances of every sample to them.
template <class Real>
struct BaseDistances {
  Matrix<Real> prototypes;  // [base classes x dim]
  Matrix<Real> of_samples;  // [samples x base classes]
};

// The surrogate values of one episode, for growing R. One for each thread.
template <class Real>
class SurrogateEpisode {
 public:
  SurrogateEpisode(const EpisodeShape& shape, std::size_t bases)
      : shape_(shape),
        prototype_distances_(shape.ways, bases),
        squared_(shape.total_queries() * shape.ways),
        surrogate_d_(shape.ways) {}

  // Begins an episode: ranks the base classes for its prototypes, up to largest_R.
  void begin(const BaseDistances<Real>& base, const Episode& episode,
             MatrixView<const Real> prototypes, std::size_t largest_R);

  // Grows the surrogate set to R, which must not be smaller than in the last call.
  void grow_to(std::size_t R);

  // The values for the present R: distances and out are [queries x ways].
  void combine(std::span<const double> distances, double beta, double gamma, std::span<double> out);

 private:
  EpisodeShape shape_;
  const BaseDistances<Real>* base_ = nullptr;
  Episode episode_;
  Matrix<double> prototype_distances_;  // [ways x base classes]
  SurrogateClasses classes_;
  std::size_t grown_to_ = 0;
  std::vector<double> squared_;  // |d' - d'_k|^2 so far, [queries x ways]
  std::vector<double> surrogate_d_;
};

template <class Real>
void SurrogateEpisode<Real>::begin(const BaseDistances<Real>& base, const Episode& episode,
                                   MatrixView<const Real> prototypes, std::size_t largest_R) {
  base_ = &base;
  episode_ = episode;
  grown_to_ = 0;
  std::ranges::fill(squared_, 0.0);
  const std::size_t bases = base.prototypes.rows();
  for (std::size_t k = 0; k < shape_.ways; ++k) {
    double* distances = prototype_distances_.row(k);
    kernels::squared_distances(kernels::active(), prototypes.row(k), base.prototypes.row(0),
                               base.prototypes.stride(), bases, base.prototypes.stride(),
                               distances);
    // Rounded as the distances of samples are, so that a query equal to a prototype is at 0.
    for (std::size_t t = 0; t < bases; ++t)
      distances[t] = static_cast<double>(static_cast<Real>(std::sqrt(distances[t])));
  }
  classes_.select(prototype_distances_.view(), largest_R);
}

template <class Real>
void SurrogateEpisode<Real>::grow_to(std::size_t R) {
  while (grown_to_ < R) {
    const auto joining = classes_.joining_at(++grown_to_);
    if (joining.empty()) continue;
    for (std::size_t q = 0; q < shape_.total_queries(); ++q) {
      const Real* of_query = base_->of_samples.row(episode_.query[q]);
      double* squared = squared_.data() + q * shape_.ways;
      for (const std::size_t t : joining) {
        const auto d_query = static_cast<double>(of_query[t]);
        for (std::size_t k = 0; k < shape_.ways; ++k) {
          const double difference = d_query - prototype_distances_.row(k)[t];
          squared[k] += difference * difference;
        }
      }
    }
  }
}

template <class Real>
void SurrogateEpisode<Real>::combine(std::span<const double> distances, double beta, double gamma,
                                     std::span<double> out) {
  const std::size_t ways = shape_.ways;
  for (std::size_t q = 0; q < shape_.total_queries(); ++q) {
    for (std::size_t k = 0; k < ways; ++k) surrogate_d_[k] = std::sqrt(squared_[q * ways + k]);
    combine_representations(distances.subspan(q * ways, ways), surrogate_d_, beta, gamma,
                            out.subspan(q * ways, ways));
  }
}

}  // namespace deepvoro
