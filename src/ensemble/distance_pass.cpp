#include "distance_pass.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "deepvoro/core/parallel.hpp"
#include "ensemble/engine.hpp"
#include "kernels/kernels.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kRowsPerBlock = 64;
// Rows that are made and multiplied with all base prototypes at a time: they stay in the
// first-level cache.
constexpr std::size_t kLongestRun = 20;
// Prototypes whose norms are computed together.
constexpr std::size_t kPrototypeRun = 8;
// Few enough that a thread stays with a class for a while, enough that no thread waits long.
constexpr std::size_t kUnitBlocks = 64;

// Episodes of a batch: as many as keep their prototypes in a cache of common size. No sum depends
// on it.
std::size_t episodes_per_batch(std::size_t episodes, std::size_t bytes_per_episode) {
  constexpr std::size_t prototype_bytes = std::size_t{16} << 20U;
  return std::clamp<std::size_t>(prototype_bytes / bytes_per_episode, 1,
                                 std::max<std::size_t>(episodes, 1));
}

// The dot products of one center, from its place in a row of tiles on.
template <std::size_t TileQueries, class Real>
void copy_from_tiles(const Real* of_center, std::size_t tile_elements, std::size_t queries,
                     Real* out) {
  std::size_t q = 0;
  for (; q + TileQueries <= queries; q += TileQueries, of_center += tile_elements)
    for (std::size_t i = 0; i < TileQueries; ++i) out[q + i] = of_center[i];
  for (std::size_t i = 0; q + i < queries; ++i) out[q + i] = of_center[i];
}

}  // namespace

template <class Real>
DistancePass<Real>::DistancePass(std::size_t samples, std::size_t dim,
                                 std::span<const std::size_t> labels, const EpisodeList& episodes,
                                 EpisodeRange range, unsigned threads)
    : episodes_(episodes),
      first_episode_(range.begin),
      episode_count_(range.end - range.begin),
      threads_(threads),
      dim_(dim),
      rows_(samples, std::min(padded(dim), kernels::kQuickLength)),
      sample_norms_(samples),
      samples_are_prototypes_(episodes.shape().shots == 1),
      tiles_(kernels::tiles(kernels::active(), episodes.shape().queries, episodes.shape().ways)),
      dots_(episode_count_ * episodes.shape().ways, tiles_.elements()),
      batch_episodes_(std::max<std::size_t>(episode_count_, 1)),
      workers_(threads) {
  const EpisodeShape& shape = episodes.shape();
  if (samples_are_prototypes_) {
    prototype_norms_.resize(samples);
  } else {
    batch_episodes_ =
        episodes_per_batch(episode_count_, shape.ways * rows_.stride() * sizeof(Real));
    prototypes_ = Matrix<Real>(batch_episodes_ * shape.ways, rows_.cols());
    prototype_norms_.resize(episode_count_ * shape.ways);
  }
  for (Worker& worker : workers_) {
    worker.wide.resize(padded(dim));
    worker.scaled.resize(rows_.stride());
  }
  plan_fitting(labels);
  plan_measuring(labels);
}

template <class Real>
std::size_t DistancePass<Real>::batches() const {
  return (episode_count_ + batch_episodes_ - 1) / batch_episodes_;
}

template <class Real>
std::vector<std::size_t> DistancePass<Real>::classes_of_places(
    std::span<const std::size_t> labels) const {
  const EpisodeShape& shape = episodes_.shape();
  std::vector<std::size_t> classes;
  classes.reserve(episode_count_ * shape.ways);
  for (std::size_t e = 0; e < episode_count_; ++e)
    for (std::size_t way = 0; way < shape.ways; ++way)
      classes.push_back(labels[episodes_[first_episode_ + e].query[way * shape.queries]]);
  return classes;
}

template <class Real>
auto DistancePass<Real>::runs_of(std::span<const SampleIndex> samples) -> std::vector<Run> {
  std::vector<Run> runs;
  for (const SampleIndex sample : samples) {
    if (runs.empty() || runs.back().count == kLongestRun ||
        sample != runs.back().first + runs.back().count)
      runs.push_back({sample, 0});
    ++runs.back().count;
  }
  return runs;
}

// One shot: any rows together. More shots: the rows of a class, so that its prototypes are made
// while the rows are in the cache; later batches make prototypes only.
template <class Real>
void DistancePass<Real>::plan_fitting(std::span<const std::size_t> labels) {
  std::vector<SampleIndex> by_class(labels.size());
  std::iota(by_class.begin(), by_class.end(), SampleIndex{0});
  fit_tasks_.resize(std::max<std::size_t>(batches(), 1));
  const std::span<const SampleIndex> samples = by_class;
  if (samples_are_prototypes_) {
    for (std::size_t begin = 0; begin < samples.size(); begin += kRowsPerBlock)
      fit_tasks_[0].push_back(
          {runs_of(samples.subspan(begin, std::min(kRowsPerBlock, samples.size() - begin))), 0, 0});
    return;
  }
  std::ranges::stable_sort(by_class, {}, [&](SampleIndex row) { return labels[row]; });
  const std::vector<std::size_t> classes = classes_of_places(labels);
  const auto class_of_place = [&](std::size_t place) { return classes[place]; };
  const std::size_t ways = episodes_.shape().ways;
  fit_places_.resize(episode_count_ * ways);
  std::iota(fit_places_.begin(), fit_places_.end(), std::size_t{0});
  for (std::size_t batch = 0; batch < fit_tasks_.size(); ++batch) {
    const std::size_t first = batch * batch_episodes_ * ways;
    const std::span<std::size_t> places =
        std::span(fit_places_)
            .subspan(first, std::min(batch_episodes_ * ways, fit_places_.size() - first));
    std::ranges::stable_sort(places, {}, class_of_place);
    for (std::size_t begin = 0; begin < samples.size();) {
      const std::size_t label = labels[samples[begin]];
      std::size_t end = begin;
      while (end < samples.size() && labels[samples[end]] == label) ++end;
      const auto from = std::ranges::lower_bound(places, label, {}, class_of_place);
      const auto to = std::ranges::upper_bound(places, label, {}, class_of_place);
      const std::size_t count = batch == 0 ? end - begin : 0;
      const auto index_of = [&](auto place) {
        return first + static_cast<std::size_t>(place - places.begin());
      };
      fit_tasks_[batch].push_back(
          {runs_of(samples.subspan(begin, count)), index_of(from), index_of(to)});
      begin = end;
    }
  }
  for (const std::size_t place : fit_places_) {
    const Episode episode = episodes_[first_episode_ + place / ways];
    const std::size_t shots = episodes_.shape().shots;
    for (const SampleIndex sample : episode.support.subspan(place % ways * shots, shots))
      support_rows_.push_back(rows_.row(sample));
  }
}

// What a unit shares with the one before should be what there is more of: the class of its queries
// or the episode of its prototypes.
template <class Real>
void DistancePass<Real>::plan_measuring(std::span<const std::size_t> labels) {
  const EpisodeShape& shape = episodes_.shape();
  unit_places_.resize(episode_count_ * shape.ways);
  std::iota(unit_places_.begin(), unit_places_.end(), std::size_t{0});
  if (shape.ways <= shape.queries) {
    const std::vector<std::size_t> classes = classes_of_places(labels);
    std::ranges::stable_sort(unit_places_, {}, [&](std::size_t place) {
      return std::pair(place / shape.ways / batch_episodes_, classes[place]);
    });
  }
  unit_of_place_.resize(unit_places_.size());
  for (std::size_t unit = 0; unit < unit_places_.size(); ++unit)
    unit_of_place_[unit_places_[unit]] = unit;
  unit_rows_.reserve(unit_places_.size() * rows_per_unit());
  for (const std::size_t place : unit_places_) {
    const std::size_t first = place / shape.ways * shape.ways;
    const Episode episode = episodes_[first_episode_ + place / shape.ways];
    for (std::size_t k = 0; k < shape.ways; ++k)
      unit_rows_.push_back(samples_are_prototypes_
                               ? rows_.row(episode.support[k])
                               : prototypes_.row((first + k) % prototypes_.rows()));
    for (const SampleIndex query :
         episode.query.subspan((place - first) * shape.queries, shape.queries))
      unit_rows_.push_back(rows_.row(query));
  }
}

template <class Real>
Real DistancePass<Real>::prototype_squared_norm(std::size_t episode, std::size_t way) const {
  if (!samples_are_prototypes_) return prototype_norms_[episode * episodes_.shape().ways + way];
  return prototype_norms_[episodes_[first_episode_ + episode].support[way]];
}

template <class Real>
void DistancePass<Real>::run(const Points<Real>& points, BaseDots<Real>* base) {
  std::ranges::fill(sample_norms_, Real{0});
  std::ranges::fill(prototype_norms_, Real{0});
  for (std::size_t begin = 0; begin < dim_; begin += rows_.cols())
    for (std::size_t batch = 0; batch < fit_tasks_.size(); ++batch) {
      fit(points, base, begin, batch);
      measure_queries(batch, begin == 0);
    }
}

template <class Real>
void DistancePass<Real>::fit(const Points<Real>& points, BaseDots<Real>* base, std::size_t begin,
                             std::size_t batch) {
  std::vector<const Real*> base_rows(base == nullptr ? 0 : base->prototypes.rows());
  for (std::size_t t = 0; t < base_rows.size(); ++t) base_rows[t] = base->prototypes.row(t) + begin;
  const std::vector<FitTask>& tasks = fit_tasks_[batch];
  parallel_for(threads_, tasks.size(), 1, [&](std::size_t task, std::size_t, unsigned number) {
    Worker& worker = workers_[number];
    for (const Run run : tasks[task].runs) {
      fit_samples(points, run, begin, worker);
      if (base != nullptr) measure_base(base_rows, run, begin, *base, worker);
    }
    const std::size_t end = tasks[task].end_place;
    for (std::size_t i = tasks[task].first_place; i < end; i += kPrototypeRun)
      fit_prototypes(points, i, std::min(i + kPrototypeRun, end), begin, worker);
  });
}

// out[i] += |rows[i] * scale|^2; no scale: 1
template <class Real>
void DistancePass<Real>::add_norms(std::span<const Real* const> rows, const Real* scale,
                                   Worker& worker, Real* out) const {
  const kernels::Table& kernels = kernels::active();
  if (scale == nullptr)
    return kernels::add_squared_norms(kernels, rows.data(), rows.size(), rows_.stride(), out);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < worker.scaled.size(); ++i) worker.scaled[i] = rows[r][i] * scale[i];
    const Real* scaled = worker.scaled.data();
    kernels::add_squared_norms(kernels, &scaled, 1, rows_.stride(), out + r);
  }
}

// Leaves their rows in worker.rows.
template <class Real>
void DistancePass<Real>::fit_samples(const Points<Real>& points, Run run, std::size_t begin,
                                     Worker& worker) {
  points.block(run.first, begin, worker.wide.data(),
               {rows_.row(run.first), run.count, rows_.cols(), rows_.stride()});
  worker.rows.clear();
  for (std::size_t sample = run.first; sample < run.first + run.count; ++sample)
    worker.rows.push_back(rows_.row(sample));
  const PointScales<Real>* scales = points.scales();
  add_norms(worker.rows, scales == nullptr ? nullptr : scales->of_queries.data() + begin, worker,
            &sample_norms_[run.first]);
  if (!samples_are_prototypes_) return;
  if (scales == nullptr)
    std::copy_n(&sample_norms_[run.first], run.count, &prototype_norms_[run.first]);
  else
    add_norms(worker.rows, scales->of_centers.data() + begin, worker, &prototype_norms_[run.first]);
}

// The dot products of the samples in worker.rows with all base prototypes.
template <class Real>
void DistancePass<Real>::measure_base(std::span<const Real* const> base_rows, Run run,
                                      std::size_t begin, BaseDots<Real>& base,
                                      const Worker& worker) {
  Real* out = base.of_samples.row(run.first);
  if (begin == 0) std::fill_n(out, run.count * base.of_samples.stride(), Real{0});
  kernels::add_dots(kernels::active(),
                    kernels::DotProducts<Real>{
                        .queries = base_rows.data(),
                        .query_count = base_rows.size(),
                        .centers = worker.rows.data(),
                        .center_count = run.count,
                        .length = std::min(rows_.stride(), base.prototypes.stride() - begin),
                        .out = out,
                        .center_stride = base.of_samples.stride()});
}

// The prototypes of places number `first` to `end` of fit_places_.
template <class Real>
void DistancePass<Real>::fit_prototypes(const Points<Real>& points, std::size_t first,
                                        std::size_t end, std::size_t begin, Worker& worker) {
  const std::size_t shots = episodes_.shape().shots;
  worker.rows.clear();
  worker.norms.clear();
  for (std::size_t index = first; index < end; ++index) {
    const std::size_t place = fit_places_[index];
    Real* prototype = prototypes_.row(place % prototypes_.rows());
    kernels::mean(kernels::active(), support_rows_.data() + index * shots, shots, rows_.stride(),
                  prototype);
    worker.rows.push_back(prototype);
    worker.norms.push_back(prototype_norms_[place]);
  }
  const PointScales<Real>* scales = points.scales();
  add_norms(worker.rows, scales == nullptr ? nullptr : scales->of_centers.data() + begin, worker,
            worker.norms.data());
  for (std::size_t index = first; index < end; ++index)
    prototype_norms_[fit_places_[index]] = worker.norms[index - first];
}

template <class Real>
void DistancePass<Real>::measure_queries(std::size_t batch, bool first_block) {
  const EpisodeShape& shape = episodes_.shape();
  const std::size_t begin = batch * batch_episodes_ * shape.ways;
  const std::size_t count = std::min(batch_episodes_ * shape.ways, unit_places_.size() - begin);
  const std::size_t grain = (count + kUnitBlocks - 1) / kUnitBlocks;
  const kernels::Table& kernels = kernels::active();
  parallel_for(threads_, count, grain, [&](std::size_t first, std::size_t last, unsigned) {
    for (std::size_t unit = begin + first; unit < begin + last; ++unit) {
      const Real* const* rows = unit_rows_.data() + unit * rows_per_unit();
      const bool is_last = unit + 1 == begin + last;
      kernels::tiled_dots(kernels,
                          kernels::TiledDots<Real>{.queries = rows + shape.ways,
                                                   .centers = rows,
                                                   .tiles = tiles_,
                                                   .length = rows_.stride(),
                                                   .out = dots_.row(unit),
                                                   .add = !first_block,
                                                   .later = rows + rows_per_unit(),
                                                   .later_count = is_last ? 0 : rows_per_unit()});
    }
  });
}

template <class Real>
void DistancePass<Real>::fetch_dots(std::size_t episode) const {
  constexpr std::size_t line = 64 / sizeof(Real);
  const std::size_t ways = episodes_.shape().ways;
  for (std::size_t way = 0; way < ways; ++way) {
    const Real* tiles = dots_.row(unit_of_place_[episode * ways + way]);
    for (std::size_t i = 0; i < dots_.cols(); i += line) __builtin_prefetch(tiles + i);
  }
}

template <class Real>
void DistancePass<Real>::copy_dots(std::size_t episode, MatrixView<Real> out) const {
  const EpisodeShape& shape = episodes_.shape();
  const auto copy = [&]<std::size_t TileQueries>() {
    for (std::size_t way = 0; way < shape.ways; ++way) {
      const Real* tiles = dots_.row(unit_of_place_[episode * shape.ways + way]);
      for (std::size_t k = 0; k < shape.ways; ++k)
        copy_from_tiles<TileQueries>(tiles + tiles_.place(0, k), tiles_.tile_elements,
                                     shape.queries, out.row(k) + way * shape.queries);
    }
  };
  switch (tiles_.tile_queries) {
    case 3:
      return copy.template operator()<3>();
    case 2:
      return copy.template operator()<2>();
    default:
      return copy.template operator()<1>();
  }
}

template class DistancePass<float>;
template class DistancePass<double>;

}  // namespace deepvoro
