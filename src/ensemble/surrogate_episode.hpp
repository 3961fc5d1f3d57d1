#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "deepvoro/core/matrix.hpp"
#include "deepvoro/episodes/episode.hpp"
#include "deepvoro/geometry/surrogate.hpp"
#include "deepvoro/kernels/kernels.hpp"

namespace deepvoro {

// The surrogate values of one episode, for growing R. Queries lie side by side, [ways x queries],
// so that they are computed together. One for each thread.
template <class Real>
class SurrogateEpisode {
 public:
  SurrogateEpisode(const EpisodeShape& shape, std::size_t bases)
      : shape_(shape),
        prototype_to_base_(shape.ways, bases),
        features_(shape.ways, shape.total_queries()),
        squared_(shape.ways, shape.total_queries()),
        shares_(shape.ways, shape.total_queries()),
        values_(shape.ways, shape.total_queries()),
        of_queries_(1, shape.total_queries()),
        of_ways_(shape.ways) {}

  // Distances of the prototypes to the base classes, to be filled before begin().
  [[nodiscard]] MatrixView<Real> prototype_to_base() { return prototype_to_base_.view(); }

  // Begins an episode: distances [ways x queries] to its prototypes, sample_to_base the distances
  // of every sample to the base classes.
  void begin(const Episode& episode, MatrixView<const Real> distances,
             MatrixView<const Real> sample_to_base, std::size_t largest_R,
             const typename SurrogateClasses<Real>::ExactDistance& exact);

  // Grows the surrogate set to R, which must not be smaller than in the last call.
  void grow_to(std::size_t R);

  // The values for the present R, [ways x queries].
  [[nodiscard]] MatrixView<const Real> combine(double beta, double gamma);

 private:
  EpisodeShape shape_;
  Episode episode_;
  MatrixView<const Real> sample_to_base_;
  SurrogateClasses<Real> classes_;
  std::size_t grown_to_ = 0;
  Matrix<Real> prototype_to_base_;  // [ways x base classes]
  Matrix<Real> features_;           // d/|d|_1
  Matrix<Real> squared_;            // |d' - d'_k|^2 so far
  Matrix<Real> shares_;             // d''/|d''|_1 for the present R
  bool shares_are_present_ = false;
  Matrix<Real> values_;
  Matrix<Real> of_queries_;    // distances of all queries to one base class
  std::vector<Real> of_ways_;  // the same of the prototypes
};

template <class Real>
void SurrogateEpisode<Real>::begin(const Episode& episode, MatrixView<const Real> distances,
                                   MatrixView<const Real> sample_to_base, std::size_t largest_R,
                                   const typename SurrogateClasses<Real>::ExactDistance& exact) {
  episode_ = episode;
  sample_to_base_ = sample_to_base;
  grown_to_ = 0;
  shares_are_present_ = false;
  classes_.select(prototype_to_base_.view(), largest_R, exact);
  std::fill_n(squared_.row(0), shape_.ways * squared_.stride(), Real{0});
  const std::size_t stride = distances.stride();
  Real* scales = of_queries_.row(0);
  std::fill_n(scales, stride, Real{0});
  for (std::size_t k = 0; k < shape_.ways; ++k)
    for (std::size_t q = 0; q < stride; ++q) scales[q] += distances.row(k)[q];
  for (std::size_t q = 0; q < stride; ++q) scales[q] = scales[q] > 0 ? 1 / scales[q] : Real{0};
  for (std::size_t k = 0; k < shape_.ways; ++k)
    for (std::size_t q = 0; q < stride; ++q) features_.row(k)[q] = distances.row(k)[q] * scales[q];
}

template <class Real>
void SurrogateEpisode<Real>::grow_to(std::size_t R) {
  const kernels::Table& kernels = kernels::active();
  while (grown_to_ < std::min(R, classes_.levels())) {
    shares_are_present_ = false;
    for (const std::size_t t : classes_.joining_at(++grown_to_)) {
      Real* of_queries = of_queries_.row(0);
      for (std::size_t q = 0; q < shape_.total_queries(); ++q)
        of_queries[q] = sample_to_base_.row(episode_.query[q])[t];
      for (std::size_t k = 0; k < shape_.ways; ++k) of_ways_[k] = prototype_to_base_.row(k)[t];
      kernels::grow_surrogate(kernels, of_queries, of_ways_.data(), shape_.ways, squared_.stride(),
                              squared_.row(0));
    }
  }
}

template <class Real>
MatrixView<const Real> SurrogateEpisode<Real>::combine(double beta, double gamma) {
  const kernels::Table& kernels = kernels::active();
  const std::size_t stride = squared_.stride();
  if (!shares_are_present_)
    kernels::surrogate_shares(kernels, squared_.row(0), shape_.ways, stride, shares_.row(0));
  shares_are_present_ = true;
  kernels::combine(kernels, static_cast<Real>(beta), features_.row(0), static_cast<Real>(gamma),
                   shares_.row(0), shape_.ways * stride, values_.row(0));
  return values_.view();
}

}  // namespace deepvoro
