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
// Rows that are multiplied with all base prototypes at a time: they stay in the first-level cache.
constexpr std::size_t kBaseRun = 20;
// Few enough that a thread stays with a class for a while, enough that no thread waits long.
constexpr std::size_t kUnitBlocks = 64;

// Episodes of a batch: as many as keep their prototypes in a cache of common size. No sum depends
// on it.
std::size_t episodes_per_batch(std::size_t episodes, std::size_t bytes_per_episode) {
  constexpr std::size_t prototype_bytes = std::size_t{16} << 20U;
  return std::clamp<std::size_t>(prototype_bytes / bytes_per_episode, 1,
                                 std::max<std::size_t>(episodes, 1));
}

// How many samples from the first on follow each other, `most` at most.
std::size_t consecutive(std::span<const SampleIndex> samples, std::size_t most) {
  std::size_t count = 1;
  while (count < std::min(most, samples.size()) && samples[count] == samples[0] + count) ++count;
  return count;
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
      dots_(episode_count_ * episodes.shape().ways, episodes.shape().total_queries()),
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
std::size_t DistancePass<Real>::class_of(std::size_t place,
                                         std::span<const std::size_t> labels) const {
  const EpisodeShape& shape = episodes_.shape();
  const Episode episode = episodes_[first_episode_ + place / shape.ways];
  return labels[episode.query[place % shape.ways * shape.queries]];
}

// One shot: any rows together. More shots: the rows of a class, so that its prototypes are made
// while the rows are in the cache; later batches make prototypes only.
template <class Real>
void DistancePass<Real>::plan_fitting(std::span<const std::size_t> labels) {
  samples_by_class_.resize(labels.size());
  std::iota(samples_by_class_.begin(), samples_by_class_.end(), SampleIndex{0});
  fit_tasks_.resize(std::max<std::size_t>(batches(), 1));
  const std::span<const SampleIndex> samples = samples_by_class_;
  if (samples_are_prototypes_) {
    for (std::size_t begin = 0; begin < samples.size(); begin += kRowsPerBlock)
      fit_tasks_[0].push_back(
          {samples.subspan(begin, std::min(kRowsPerBlock, samples.size() - begin)), 0, 0});
    return;
  }
  std::ranges::stable_sort(samples_by_class_, {}, [&](SampleIndex row) { return labels[row]; });
  const auto class_of_place = [&](std::size_t place) { return class_of(place, labels); };
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
      fit_tasks_[batch].push_back({samples.subspan(begin, count), index_of(from), index_of(to)});
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
  if (shape.ways <= shape.queries)
    std::ranges::stable_sort(unit_places_, {}, [&](std::size_t place) {
      return std::pair(place / shape.ways / batch_episodes_, class_of(place, labels));
    });
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
    const auto samples = tasks[task].samples;
    for (std::size_t i = 0; i < samples.size();) {
      const std::size_t run = consecutive(samples.subspan(i), kBaseRun);
      for (std::size_t sample = samples[i]; sample < samples[i] + run; ++sample)
        fit_sample(points, sample, begin, worker);
      if (base != nullptr) measure_base(base_rows, samples[i], run, begin, *base, worker);
      i += run;
    }
    for (std::size_t i = tasks[task].first_place; i < tasks[task].end_place; ++i)
      fit_prototype(points, i, begin, worker);
  });
}

// out += |row * scale|^2; no scale: 1
template <class Real>
void DistancePass<Real>::add_norm(const Real* row, const Real* scale, Worker& worker,
                                  Real* out) const {
  if (scale != nullptr) {
    for (std::size_t i = 0; i < worker.scaled.size(); ++i) worker.scaled[i] = row[i] * scale[i];
    row = worker.scaled.data();
  }
  kernels::add_squared_norm(kernels::active(), row, rows_.stride(), out);
}

template <class Real>
void DistancePass<Real>::fit_sample(const Points<Real>& points, std::size_t sample,
                                    std::size_t begin, Worker& worker) {
  Real* row = rows_.row(sample);
  points.columns(sample, begin, rows_.stride(), worker.wide.data(), row);
  const PointScales<Real>* scales = points.scales();
  add_norm(row, scales == nullptr ? nullptr : scales->of_queries.data() + begin, worker,
           &sample_norms_[sample]);
  if (!samples_are_prototypes_) return;
  if (scales == nullptr)
    prototype_norms_[sample] = sample_norms_[sample];
  else
    add_norm(row, scales->of_centers.data() + begin, worker, &prototype_norms_[sample]);
}

// The dot products of `count` samples from `first` on with all base prototypes.
template <class Real>
void DistancePass<Real>::measure_base(std::span<const Real* const> base_rows, std::size_t first,
                                      std::size_t count, std::size_t begin, BaseDots<Real>& base,
                                      Worker& worker) {
  worker.rows.clear();
  for (std::size_t sample = first; sample < first + count; ++sample)
    worker.rows.push_back(rows_.row(sample));
  Real* out = base.of_samples.row(first);
  if (begin == 0) std::fill_n(out, count * base.of_samples.stride(), Real{0});
  kernels::add_dots(kernels::active(),
                    kernels::DotProducts<Real>{
                        .queries = base_rows.data(),
                        .query_count = base_rows.size(),
                        .centers = worker.rows.data(),
                        .center_count = count,
                        .length = std::min(rows_.stride(), base.prototypes.stride() - begin),
                        .out = out,
                        .center_stride = base.of_samples.stride()});
}

// The prototype of place number `index` of fit_places_.
template <class Real>
void DistancePass<Real>::fit_prototype(const Points<Real>& points, std::size_t index,
                                       std::size_t begin, Worker& worker) {
  const std::size_t shots = episodes_.shape().shots;
  const std::size_t place = fit_places_[index];
  Real* prototype = prototypes_.row(place % prototypes_.rows());
  kernels::mean(kernels::active(), support_rows_.data() + index * shots, shots, rows_.stride(),
                prototype);
  const PointScales<Real>* scales = points.scales();
  add_norm(prototype, scales == nullptr ? nullptr : scales->of_centers.data() + begin, worker,
           &prototype_norms_[place]);
}

// Where the dot products of a unit go: [ways x queries], rows of dots_.
template <class Real>
Real* DistancePass<Real>::out_of_unit(std::size_t unit) {
  const std::size_t way = unit_places_[unit] % episodes_.shape().ways;
  return dots_.row(unit_places_[unit] - way) + way * episodes_.shape().queries;
}

template <class Real>
void DistancePass<Real>::measure_queries(std::size_t batch, bool first_block) {
  const EpisodeShape& shape = episodes_.shape();
  const std::size_t begin = batch * batch_episodes_ * shape.ways;
  const std::size_t count = std::min(batch_episodes_ * shape.ways, unit_places_.size() - begin);
  const std::size_t grain = (count + kUnitBlocks - 1) / kUnitBlocks;
  parallel_for(threads_, count, grain, [&](std::size_t first, std::size_t last, unsigned) {
    Real* out = out_of_unit(begin + first);
    for (std::size_t unit = begin + first; unit < begin + last; ++unit) {
      const std::size_t next = std::min(unit + 1, begin + last - 1);
      Real* next_out = out_of_unit(next);
      for (std::size_t k = 0; k < shape.ways; ++k) {
        __builtin_prefetch(next_out + k * dots_.stride(), 1);
        __builtin_prefetch(next_out + k * dots_.stride() + shape.queries - 1, 1);
      }
      if (first_block)
        for (std::size_t k = 0; k < shape.ways; ++k)
          std::fill_n(out + k * dots_.stride(), shape.queries, Real{0});
      const Real* const* rows = unit_rows_.data() + unit * rows_per_unit();
      kernels::add_dots(kernels::active(), kernels::DotProducts<Real>{
                                               .queries = rows + shape.ways,
                                               .query_count = shape.queries,
                                               .centers = rows,
                                               .center_count = shape.ways,
                                               .length = rows_.stride(),
                                               .out = out,
                                               .center_stride = dots_.stride(),
                                               .later = unit_rows_.data() + next * rows_per_unit(),
                                               .later_count = rows_per_unit()});
      out = next_out;
    }
  });
}

template class DistancePass<float>;
template class DistancePass<double>;

}  // namespace deepvoro
