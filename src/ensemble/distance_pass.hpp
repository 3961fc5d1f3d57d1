#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/episodes/episode.hpp"
#include "kernels/kernels.hpp"
#include "points.hpp"

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
// Squared distances are |q|^2 + |p|^2 - 2 q.p, where the points may have other norms as queries
// than as centers. The split is transformed a block of columns at a time, so that the rows of a
// class stay in the second-level cache; queries are visited class by class for the same reason. The
// width of a block depends on nothing but the dimension, because it decides the order of a sum.
template <class Real>
class DistancePass {
 public:
  DistancePass(std::size_t samples, std::size_t dim, std::span<const std::size_t> labels,
               const EpisodeList& episodes, EpisodeRange range, unsigned threads);

  // The blocks in which a view should be loaded.
  [[nodiscard]] std::size_t block_columns() const { return rows_.cols(); }

  // Computes all dot products of some points, those with base prototypes too if given.
  void run(const Points<Real>& points, BaseDots<Real>* base);

  // Results for one episode, counted from the beginning of the range: [ways x queries]. To fetch
  // them brings them into the cache.
  void fetch_dots(std::size_t episode) const;
  void copy_dots(std::size_t episode, MatrixView<Real> out) const;
  // Of a sample as a query.
  [[nodiscard]] Real sample_squared_norm(std::size_t sample) const { return sample_norms_[sample]; }
  [[nodiscard]] Real prototype_squared_norm(std::size_t episode, std::size_t way) const;

 private:
  // Samples that follow each other.
  struct Run {
    std::size_t first;
    std::size_t count;
  };
  // Rows that are transformed together, and the prototypes that are made of them.
  struct FitTask {
    std::vector<Run> runs;
    std::size_t first_place;  // in fit_places_
    std::size_t end_place;
  };
  struct Worker {
    std::vector<double> wide;
    std::vector<const Real*> rows;
    std::vector<Real> norms;
    std::vector<Real> scaled;
  };

  [[nodiscard]] static std::vector<Run> runs_of(std::span<const SampleIndex> samples);
  void plan_fitting(std::span<const std::size_t> labels);
  void plan_measuring(std::span<const std::size_t> labels);
  [[nodiscard]] std::vector<std::size_t> classes_of_places(
      std::span<const std::size_t> labels) const;
  [[nodiscard]] std::size_t batches() const;

  void fit(const Points<Real>& points, BaseDots<Real>* base, std::size_t begin, std::size_t batch);
  void fit_samples(const Points<Real>& points, Run run, std::size_t begin, Worker& worker);
  void fit_prototypes(const Points<Real>& points, std::size_t first, std::size_t end,
                      std::size_t begin, Worker& worker);
  void add_norms(std::span<const Real* const> rows, const Real* scale, Worker& worker,
                 Real* out) const;
  void measure_base(std::span<const Real* const> base_rows, Run run, std::size_t begin,
                    BaseDots<Real>& base, const Worker& worker);
  void measure_queries(std::size_t batch, bool first_block);
  [[nodiscard]] std::size_t rows_per_unit() const {
    return episodes_.shape().ways + episodes_.shape().queries;
  }

  const EpisodeList& episodes_;
  std::size_t first_episode_;
  std::size_t episode_count_;
  unsigned threads_;
  std::size_t dim_;
  Matrix<Real> rows_;               // the present block of columns of every sample
  Matrix<Real> prototypes_;         // the same of the prototypes of a batch; empty for one shot
  std::vector<Real> sample_norms_;  // squared
  std::vector<Real> prototype_norms_;
  bool samples_are_prototypes_;  // of one shot
  kernels::Tiles tiles_;         // of a unit
  Matrix<Real> dots_;            // [units x elements of its tiles]
  // A place is episode * ways + way. Episodes are worked through in batches.
  std::size_t batch_episodes_;
  std::vector<std::size_t> fit_places_;          // a batch after the other, within it by class
  std::vector<const Real*> support_rows_;        // in that order
  std::vector<std::vector<FitTask>> fit_tasks_;  // [batches]
  // A unit is the queries of one way of one episode.
  std::vector<std::size_t> unit_places_;  // a batch after the other
  std::vector<std::size_t> unit_of_place_;
  std::vector<const Real*> unit_rows_;  // in that order: its episode's prototypes, its queries
  std::vector<Worker> workers_;
};

}  // namespace deepvoro
