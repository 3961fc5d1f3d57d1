#include "distance_pass.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "deepvoro/core/parallel.hpp"
#include "deepvoro/ensemble/engine.hpp"
#include "deepvoro/heads/prototypes.hpp"
#include "deepvoro/kernels/kernels.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kRowGrain = 64;
constexpr std::size_t kPrototypeGrain = 64;
// Few enough that a thread stays with a class for a while, enough that no thread waits long.
constexpr std::size_t kUnitBlocks = 32;

// Columns of a block: as many as keep the rows in a cache of common size.
std::size_t columns_per_block(std::size_t samples, std::size_t dim, std::size_t element_bytes) {
  constexpr std::size_t narrowest = 64;
  constexpr std::size_t cache_bytes = std::size_t{16} << 20U;
  const std::size_t fitting = cache_bytes / std::max<std::size_t>(1, samples * element_bytes);
  const std::size_t widest = std::max(narrowest, fitting);
  const std::size_t blocks = (padded(dim) + widest - 1) / widest;
  return padded((dim + blocks - 1) / blocks);
}

// Episodes of a batch: as many as keep their prototypes in the same cache. No sum depends on it.
std::size_t episodes_per_batch(std::size_t episodes, std::size_t bytes_per_episode) {
  constexpr std::size_t prototype_bytes = std::size_t{16} << 20U;
  return std::clamp<std::size_t>(prototype_bytes / bytes_per_episode, 1,
                                 std::max<std::size_t>(episodes, 1));
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
      rows_(samples, columns_per_block(samples, dim, sizeof(Real))),
      sample_norms_(samples),
      dots_(episode_count_ * episodes.shape().total_queries() * episodes.shape().ways),
      batch_episodes_(episode_count_),
      workers_(threads) {
  const EpisodeShape& shape = episodes.shape();
  if (shape.shots > 1) {
    batch_episodes_ =
        episodes_per_batch(episode_count_, shape.ways * rows_.stride() * sizeof(Real));
    prototypes_ = Matrix<Real>(batch_episodes_ * shape.ways, rows_.cols());
    prototype_norms_.resize(episode_count_ * shape.ways);
  }
  for (Worker& worker : workers_) {
    worker.wide.resize(padded(dim));
    worker.queries.resize(shape.queries);
    worker.centers.resize(shape.ways);
  }
  const auto queries_of = [&](std::size_t place) {
    return episodes[range.begin + place / shape.ways].query.subspan(
        place % shape.ways * shape.queries, shape.queries);
  };
  unit_places_.resize(episode_count_ * shape.ways);
  std::iota(unit_places_.begin(), unit_places_.end(), std::size_t{0});
  std::ranges::stable_sort(unit_places_, {}, [&](std::size_t place) {
    return std::pair(place / shape.ways / batch_episodes_, labels[queries_of(place)[0]]);
  });
  for (const std::size_t place : unit_places_) {
    const auto queries = queries_of(place);
    unit_queries_.insert(unit_queries_.end(), queries.begin(), queries.end());
  }
}

template <class Real>
const Real* DistancePass<Real>::dots(std::size_t episode) const {
  const EpisodeShape& shape = episodes_.shape();
  return dots_.data() + episode * shape.total_queries() * shape.ways;
}

template <class Real>
Real DistancePass<Real>::prototype_squared_norm(std::size_t episode, std::size_t way) const {
  if (!prototype_norms_.empty()) return prototype_norms_[episode * episodes_.shape().ways + way];
  return sample_norms_[episodes_[first_episode_ + episode].support[way]];
}

// The prototype of a way, place = episode * ways + way.
template <class Real>
const Real* DistancePass<Real>::prototype(std::size_t place) const {
  const std::size_t ways = episodes_.shape().ways;
  if (prototypes_.rows() > 0) return prototypes_.row(place % prototypes_.rows());
  return rows_.row(episodes_[first_episode_ + place / ways].support[place % ways]);
}

template <class Real>
void DistancePass<Real>::run(const RowTransformer& transformer, BaseDots<Real>* base) {
  std::ranges::fill(sample_norms_, Real{0});
  std::ranges::fill(prototype_norms_, Real{0});
  std::ranges::fill(dots_, Real{0});
  for (std::size_t begin = 0; begin < dim_; begin += rows_.cols()) {
    transform_block(transformer, begin);
    if (base != nullptr) measure_base(*base, begin);
    for (std::size_t batch = 0; batch < episode_count_; batch += batch_episodes_) {
      if (prototypes_.rows() > 0) fit_prototypes(batch);
      measure_queries(batch);
    }
  }
}

template <class Real>
void DistancePass<Real>::transform_block(const RowTransformer& transformer, std::size_t begin) {
  const kernels::Table& kernels = kernels::active();
  parallel_for(
      threads_, rows_.rows(), kRowGrain, [&](std::size_t first, std::size_t last, unsigned worker) {
        for (std::size_t r = first; r < last; ++r) {
          Real* row = rows_.row(r);
          transformer.columns(r, begin, rows_.stride(), workers_[worker].wide.data(), row);
          const Real* self = row;
          kernels::add_dots(kernels, &self, 1, &self, 1, rows_.stride(), &sample_norms_[r], 1);
        }
      });
}

template <class Real>
void DistancePass<Real>::fit_prototypes(std::size_t batch) {
  const kernels::Table& kernels = kernels::active();
  const EpisodeShape& shape = episodes_.shape();
  const std::size_t first_unit = batch * shape.ways;
  const std::size_t count = std::min(batch_episodes_, episode_count_ - batch) * shape.ways;
  parallel_for(threads_, count, kPrototypeGrain,
               [&](std::size_t first, std::size_t last, unsigned worker) {
                 const auto support_of = [&](std::size_t place) {
                   const Episode episode = episodes_[first_episode_ + place / shape.ways];
                   return episode.support.subspan(place % shape.ways * shape.shots, shape.shots);
                 };
                 for (std::size_t u = first_unit + first; u < first_unit + last; ++u) {
                   if (u + 1 < first_unit + last)
                     for (const SampleIndex row : support_of(unit_places_[u + 1]))
                       prefetch(rows_.row(row));
                   const std::size_t place = unit_places_[u];
                   const auto support = support_of(place);
                   Real* prototype = prototypes_.row(place % prototypes_.rows());
                   fit_prototype<Real>(rows_.view(), support, workers_[worker].rows, prototype);
                   const Real* self = prototype;
                   kernels::add_dots(kernels, &self, 1, &self, 1, rows_.stride(),
                                     &prototype_norms_[place], 1);
                 }
               });
}

template <class Real>
void DistancePass<Real>::measure_base(BaseDots<Real>& base, std::size_t begin) {
  const kernels::Table& kernels = kernels::active();
  const std::size_t bases = base.prototypes.rows();
  const std::size_t length = std::min(rows_.stride(), base.prototypes.stride() - begin);
  std::vector<const Real*> centers(bases);
  for (std::size_t t = 0; t < bases; ++t) centers[t] = base.prototypes.row(t) + begin;
  parallel_for(threads_, rows_.rows(), kRowGrain,
               [&](std::size_t first, std::size_t last, unsigned worker) {
                 std::vector<const Real*>& rows = workers_[worker].rows;
                 rows.clear();
                 for (std::size_t r = first; r < last; ++r) {
                   rows.push_back(rows_.row(r));
                   if (begin == 0) std::fill_n(base.of_samples.row(r), bases, Real{0});
                 }
                 kernels::add_dots(kernels, rows.data(), rows.size(), centers.data(), bases, length,
                                   base.of_samples.row(first), base.of_samples.stride());
               });
}

// A row of the present block, to be read soon.
template <class Real>
void DistancePass<Real>::prefetch(const Real* row) const {
  constexpr std::size_t line = 64 / sizeof(Real);
  constexpr int second_level = 2;
  for (std::size_t i = 0; i < rows_.stride(); i += line)
    __builtin_prefetch(row + i, 0, second_level);
}

// Prototypes and results lie all over the memory; asked for one unit ahead, they are there in time.
template <class Real>
void DistancePass<Real>::prefetch_unit(std::size_t unit) const {
  constexpr std::size_t line = 64 / sizeof(Real);
  const EpisodeShape& shape = episodes_.shape();
  const std::size_t place = unit_places_[unit];
  for (std::size_t k = 0; k < shape.ways; ++k)
    prefetch(prototype(place / shape.ways * shape.ways + k));
  if (unit + 1 < unit_places_.size()) {
    const std::size_t episode_after = unit_places_[unit + 1] / shape.ways;
    __builtin_prefetch(episodes_[first_episode_ + episode_after].support.data());
  }
  const Real* out = dots_.data() + place * shape.queries * shape.ways;
  for (std::size_t i = 0; i < shape.queries * shape.ways; i += line) __builtin_prefetch(out + i, 1);
}

template <class Real>
void DistancePass<Real>::measure_queries(std::size_t batch) {
  const kernels::Table& kernels = kernels::active();
  const EpisodeShape& shape = episodes_.shape();
  const std::size_t first_unit = batch * shape.ways;
  const std::size_t count = std::min(batch_episodes_, episode_count_ - batch) * shape.ways;
  const std::size_t grain = (count + kUnitBlocks - 1) / kUnitBlocks;
  parallel_for(threads_, count, grain, [&](std::size_t first, std::size_t last, unsigned worker) {
    const Real** queries = workers_[worker].queries.data();
    const Real** centers = workers_[worker].centers.data();
    for (std::size_t u = first_unit + first; u < first_unit + last; ++u) {
      if (u + 1 < first_unit + last) prefetch_unit(u + 1);
      const std::size_t place = unit_places_[u];
      for (std::size_t i = 0; i < shape.queries; ++i)
        queries[i] = rows_.row(unit_queries_[u * shape.queries + i]);
      for (std::size_t k = 0; k < shape.ways; ++k)
        centers[k] = prototype(place / shape.ways * shape.ways + k);
      kernels::add_dots(kernels, queries, shape.queries, centers, shape.ways, rows_.stride(),
                        dots_.data() + place * shape.queries * shape.ways, shape.ways);
    }
  });
}

template class DistancePass<float>;
template class DistancePass<double>;

}  // namespace deepvoro
