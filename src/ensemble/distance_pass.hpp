#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deepvoro/core/matrix.hpp"
#include "deepvoro/episodes/episode.hpp"
#include "deepvoro/features/transform.hpp"

namespace deepvoro {

struct EpisodeRange;

// Base prototypes of one view and transformation, and the dot products of every sample with them.
template <class Real>
struct BaseDots {
  Matrix<Real> prototypes;          // [base classes x dim]
  std::vector<Real> squared_norms;  // [base classes]
  Matrix<Real> of_samples;          // [samples x base classes]
};

// For one view and transformation at a time, the dot products of every query with every prototype
// of its episode: nearly all the arithmetic there is.
//
// Distances are |q|^2 + |p|^2 - 2 q.p. The split is transformed a block of columns at a time, so
// that the rows that the episodes pick stay in the cache; queries are visited class by class for
// the same reason. The width of a block depends on nothing but the shape of the task, because it
// decides the order of a sum.
template <class Real>
class DistancePass {
 public:
  DistancePass(std::size_t samples, std::size_t dim, std::span<const std::size_t> labels,
               const EpisodeList& episodes, EpisodeRange range, unsigned threads);

  // The blocks in which a view should be loaded.
  [[nodiscard]] std::size_t block_columns() const { return rows_.cols(); }

  // Computes all dot products for a transformation, those with base prototypes too if given.
  void run(const RowTransformer& transformer, BaseDots<Real>* base);

  // Results for one episode, counted from the beginning of the range.
  [[nodiscard]] const Real* dots(std::size_t episode) const;  // [queries x ways]
  [[nodiscard]] Real sample_squared_norm(std::size_t sample) const { return sample_norms_[sample]; }
  [[nodiscard]] Real prototype_squared_norm(std::size_t episode, std::size_t way) const;

 private:
  struct Worker {
    std::vector<double> wide;
    std::vector<const Real*> rows;
    std::vector<const Real*> queries;  // [queries]
    std::vector<const Real*> centers;  // [ways]
  };

  void transform_block(const RowTransformer& transformer, std::size_t begin);
  void fit_prototypes(std::size_t batch);
  void measure_base(BaseDots<Real>& base, std::size_t begin);
  void measure_queries(std::size_t batch);
  [[nodiscard]] const Real* prototype(std::size_t place) const;

  void prefetch(const Real* row) const;
  void prefetch_unit(std::size_t unit) const;

  const EpisodeList& episodes_;
  std::size_t first_episode_;
  std::size_t episode_count_;
  unsigned threads_;
  std::size_t dim_;
  Matrix<Real> rows_;               // the present block of columns of every sample
  Matrix<Real> prototypes_;         // the same of the prototypes of a batch; empty for one shot
  std::vector<Real> sample_norms_;  // squared
  std::vector<Real> prototype_norms_;
  std::vector<Real> dots_;
  // A unit is the queries of one way of one episode. Units are worked through in batches of
  // episodes, within a batch class by class.
  std::size_t batch_episodes_;
  std::vector<std::size_t> unit_places_;   // in that order: episode * ways + way
  std::vector<SampleIndex> unit_queries_;  // in that order, [units x queries]
  std::vector<Worker> workers_;
};

}  // namespace deepvoro
