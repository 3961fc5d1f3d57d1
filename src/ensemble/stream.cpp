#include "stream.hpp"

#include <algorithm>
#include <cmath>

#include "base_classes.hpp"
#include "deepvoro/core/parallel.hpp"
#include "kernels/kernels.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kRowGrain = 128;
constexpr std::size_t kEpisodeGrain = 8;

bool needs_base_distances(std::span<const Group> groups) {
  return std::ranges::any_of(groups, [](const Group& group) {
    return std::ranges::any_of(group.members,
                               [](const Member& m) { return m.geometry.needs_base_distances(); });
  });
}

}  // namespace

template <class Real>
std::size_t Stream<Real>::bytes_of_row(const FeatureStore& store, std::size_t dim,
                                       std::span<const Group> groups) {
  const bool has_space = std::ranges::any_of(
      groups, [](const Group& group) { return group.members.front().geometry.has_space(); });
  const std::size_t bases =
      needs_base_distances(groups) ? padded(store.split("base").classes.size()) : 0;
  const std::size_t elements = dim * sizeof(float);  // as they are in the store
  const std::size_t reals =
      std::min(padded(dim), kernels::kQuickLength) + (has_space ? padded(dim) : 0) + 2 * bases;
  return elements + reals * sizeof(Real);
}

template <class Real>
Stream<Real>::Stream(const EpisodeSetting& setting, std::size_t dim, EpisodeRange range,
                     const LaneVisitor<Real>& visit, std::span<const Group> groups)
    : setting_(setting),
      dim_(dim),
      range_(range),
      visit_(visit),
      drawn_(setting, range),
      labels_(drawn_.labels()),
      pass_(labels_.size(), dim, labels_, drawn_.episodes(), {0, range.end - range.begin},
            setting.threads),
      view_(setting.store, pass_.block_columns(), setting.threads, &drawn_.rows()),
      base_view_(LoadedView::mapped(setting.store, setting.threads)) {
  std::size_t bases = 0;
  if (needs_base_distances(groups)) {
    base_rows_ = base_classes(setting.store);
    bases = base_rows_.size();
    base_.prototypes = Matrix<Real>(bases, dim);
    base_.squared_norms.resize(bases);
    base_.of_samples = Matrix<Real>(labels_.size(), bases);
    sample_to_base_ = Matrix<Real>(labels_.size(), bases);
    exact_base_ = Matrix<double>(bases, dim);
  }
  for (unsigned i = 0; i < setting.threads; ++i)
    workers_.push_back(std::make_unique<Worker>(setting, dim, bases));
}

template <class Real>
void Stream<Real>::run(const Group& group, const Space* space, const Progress& progress) {
  const Member& shared = group.members.front();
  if (view_name_ != shared.view) view_.load(setting_.split, shared.view);
  view_name_ = shared.view;
  transformer_.emplace(view_, shared.transform, center_of(view_, shared.transform));
  if (space == nullptr)
    run_points(group, TransformedPoints<Real>(*transformer_), progress);
  else
    run_points(group,
               MappedPoints<Real>(*transformer_, view_.rows(), view_.dim(), *space,
                                  setting_.episodes.shape().shots, setting_.threads),
               progress);
}

template <class Real>
auto Stream<Real>::kinds_of(const Group& group) -> GroupKinds {
  GroupKinds kinds;
  for (const Member& member : group.members) {
    const std::vector<Kind>& known = workers_.front()->kinds;
    const auto found = std::ranges::find(known, member.geometry.name(), &Kind::name);
    const auto kind = static_cast<std::size_t>(found - known.begin());
    if (kind == known.size())
      for (const auto& worker : workers_)
        worker->kinds.emplace_back(member.geometry, setting_.episodes.shape());
    const auto present = std::ranges::find(kinds.present, kind);
    if (present == kinds.present.end()) {
      kinds.present.push_back(kind);
      kinds.last_of.push_back(&member.geometry);
    } else {
      kinds.last_of[static_cast<std::size_t>(present - kinds.present.begin())] = &member.geometry;
    }
    kinds.of_member.push_back(kind);
    kinds.needs_base_distances |= member.geometry.needs_base_distances();
  }
  return kinds;
}

template <class Real>
void Stream<Real>::run_points(const Group& group, const Points<Real>& points,
                              const Progress& progress) {
  const GroupKinds kinds = kinds_of(group);
  if (kinds.needs_base_distances)
    fit_base_prototypes(group.members.front(), transformer_->center());
  pass_.run(points, kinds.needs_base_distances ? &base_ : nullptr);
  if (kinds.needs_base_distances) measure_samples(points);

  const std::size_t count = range_.end - range_.begin;
  parallel_for(setting_.threads, count, kEpisodeGrain,
               [&](std::size_t begin, std::size_t end, unsigned worker) {
                 for (std::size_t e = begin; e < end; ++e) {
                   if (e + 1 < end) fetch_episode(kinds, e + 1);
                   run_episode(group, kinds, points, e, *workers_[worker]);
                 }
                 if (worker == 0 && progress)
                   progress(static_cast<double>(end) / static_cast<double>(count));
               });
}

template <class Real>
void Stream<Real>::fit_base_prototypes(const Member& shared, const std::vector<float>& center) {
  if (base_view_name_ != shared.view) base_view_.load("base", shared.view);
  base_view_name_ = shared.view;
  const RowTransformer transformer(base_view_, shared.transform, center);
  const kernels::Table& kernels = kernels::active();
  parallel_for(setting_.threads, base_rows_.size(), 1,
               [&](std::size_t begin, std::size_t end, unsigned worker) {
                 for (std::size_t t = begin; t < end; ++t) {
                   fit_base_prototype(transformer, t, *workers_[worker]);
                   const Real* self = base_.prototypes.row(t);
                   base_.squared_norms[t] = 0;
                   kernels::add_squared_norm(kernels, self, base_.prototypes.stride(),
                                             &base_.squared_norms[t]);
                 }
               });
}

template <class Real>
void Stream<Real>::fit_base_prototype(const RowTransformer& transformer, std::size_t base_class,
                                      Worker& worker) {
  const std::size_t length = base_.prototypes.stride();
  double* sum = exact_base_.row(base_class);
  std::fill_n(sum, length, 0.0);
  Real* row = worker.row.row(0);
  for (const std::size_t index : base_rows_[base_class]) {
    transformer.columns(index, 0, length, worker.wide.data(), row);
    for (std::size_t i = 0; i < length; ++i) sum[i] += static_cast<double>(row[i]);
  }
  const auto count = static_cast<double>(base_rows_[base_class].size());
  for (std::size_t i = 0; i < length; ++i) {
    sum[i] /= count;
    base_.prototypes.row(base_class)[i] = static_cast<Real>(sum[i]);
  }
}

template <class Real>
void Stream<Real>::measure_samples(const Points<Real>& points) {
  const kernels::Table& kernels = kernels::active();
  const std::size_t bases = base_rows_.size();
  parallel_for(setting_.threads, labels_.size(), kRowGrain,
               [&](std::size_t begin, std::size_t end, unsigned number) {
                 Worker& worker = *workers_[number];
                 for (std::size_t r = begin; r < end; ++r) {
                   for (std::size_t t = 0; t < bases; ++t)
                     worker.norms[t] = pass_.sample_squared_norm(r) + base_.squared_norms[t];
                   Real* out = sample_to_base_.row(r);
                   if (!kernels::distances(kernels, worker.norms.data(), base_.of_samples.row(r),
                                           bases, out))
                     continue;
                   points.columns(r, 0, worker.row.stride(), worker.wide.data(), worker.row.row(0));
                   for (std::size_t t = 0; t < bases; ++t)
                     if (kernels::loses_digits(worker.norms[t], base_.of_samples.row(r)[t]))
                       out[t] = plain_distance(worker.row.row(0), base_.prototypes.row(t));
                 }
               });
}

template <class Real>
Real Stream<Real>::plain_distance(const Real* a, const Real* b) const {
  const std::size_t length = padded(dim_);
  double squared = 0;
  kernels::squared_distances(kernels::active(), a, b, length, 1, length, &squared);
  return static_cast<Real>(std::sqrt(squared));
}

template <class Real>
void Stream<Real>::run_episode(const Group& group, const GroupKinds& kinds,
                               const Points<Real>& points, std::size_t e, Worker& worker) {
  const Episode episode = drawn_.episodes()[e];
  measure_episode(episode, points, e, worker);
  CenterDistances<Real> centers;
  QueryDistances<Real> queries{.to_centers = worker.distances.view(), .to_base = {}};
  if (kinds.needs_base_distances) {
    worker.exact_way.reset();
    measure_prototypes(episode, points, e, worker);
    centers = {worker.prototype_to_base.view(), [&](std::size_t way, std::size_t base) {
                 return exact_base_distance(episode, way, base, worker);
               }};
    for (std::size_t q = 0; q < episode.query.size(); ++q)
      worker.query_to_base[q] = sample_to_base_.row(episode.query[q]);
    queries.to_base = worker.query_to_base;
  }
  for (std::size_t i = 0; i < kinds.present.size(); ++i) {
    const Kind& kind = worker.kinds[kinds.present[i]];
    kind.fit->fit(centers, *kinds.last_of[i]);
    kind.distances->begin(*kind.fit, queries);
  }
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const Member& member = group.members[i];
    MatrixView<const Real> values = worker.kinds[kinds.of_member[i]].distances->of(member.geometry);
    if (member.weight != 1) {
      const auto weight = static_cast<Real>(member.weight);
      for (std::size_t j = 0; j < values.rows() * values.stride(); ++j)
        worker.weighted.row(0)[j] = weight * values.data()[j];
      values = worker.weighted.view();
    }
    visit_(group.first + i, range_.begin + e, values, worker.terms.view());
  }
}

// What an episode reads lies all over the memory.
template <class Real>
void Stream<Real>::fetch_episode(const GroupKinds& kinds, std::size_t e) const {
  pass_.fetch_dots(e);
  if (!kinds.needs_base_distances) return;
  constexpr std::size_t line = 64 / sizeof(Real);
  for (const SampleIndex query : drawn_.episodes()[e].query)
    for (std::size_t t = 0; t < sample_to_base_.cols(); t += line)
      __builtin_prefetch(sample_to_base_.row(query) + t);
}

template <class Real>
void Stream<Real>::measure_episode(const Episode& episode, const Points<Real>& points,
                                   std::size_t e, Worker& worker) {
  const MatrixView<Real> distances = worker.distances.view();
  const std::size_t stride = distances.stride();
  for (std::size_t q = 0; q < distances.cols(); ++q)
    worker.query_norms[q] = pass_.sample_squared_norm(episode.query[q]);
  for (std::size_t k = 0; k < distances.rows(); ++k) {
    const Real of_prototype = pass_.prototype_squared_norm(e, k);
    for (std::size_t q = 0; q < stride; ++q)
      worker.norms[k * stride + q] = worker.query_norms[q] + of_prototype;
  }
  pass_.copy_dots(e, worker.dots.view());
  const bool close = kernels::distances(kernels::active(), worker.norms.data(), worker.dots.row(0),
                                        distances.rows() * stride, distances.data());
  if (!close) return;
  for (std::size_t k = 0; k < distances.rows(); ++k)
    for (std::size_t q = 0; q < distances.cols(); ++q)
      if (kernels::loses_digits(worker.norms[k * stride + q], worker.dots.row(k)[q]))
        distances[k][q] = measure_again(episode, points, q, k, worker);
}

template <class Real>
template <class T, class Rows>
void Stream<Real>::fit_again(const Episode& episode, const Rows& rows, std::size_t way,
                             Matrix<T>& support, std::vector<double>& wide, T* out) const {
  const std::size_t shots = support.rows();
  std::vector<const T*> of_way;
  for (std::size_t s = 0; s < shots; ++s) {
    rows.columns(episode.support[way * shots + s], 0, support.stride(), wide.data(),
                 support.row(s));
    of_way.push_back(support.row(s));
  }
  kernels::mean(kernels::active(), of_way.data(), shots, support.stride(), out);
}

template <class Real>
double Stream<Real>::exact_base_distance(const Episode& episode, std::size_t way, std::size_t base,
                                         Worker& worker) const {
  if (worker.exact_way != way)
    fit_again(episode, *transformer_, way, worker.exact_support, worker.wide,
              worker.exact_prototype.row(0));
  worker.exact_way = way;
  double squared = 0;
  kernels::squared_distances(kernels::active(), worker.exact_prototype.row(0),
                             exact_base_.row(base), exact_base_.stride(), 1, exact_base_.stride(),
                             &squared);
  return squared;
}

template <class Real>
Real Stream<Real>::measure_again(const Episode& episode, const Points<Real>& points,
                                 std::size_t query, std::size_t way, Worker& worker) const {
  const std::size_t length = worker.row.stride();
  fit_again(episode, points, way, worker.support, worker.wide, worker.center.row(0));
  points.columns(episode.query[query], 0, length, worker.wide.data(), worker.row.row(0));
  if (const PointScales<Real>* scales = points.scales())
    for (std::size_t i = 0; i < length; ++i) {
      worker.row.row(0)[i] *= scales->of_queries[i];
      worker.center.row(0)[i] *= scales->of_centers[i];
    }
  return plain_distance(worker.row.row(0), worker.center.row(0));
}

template <class Real>
void Stream<Real>::measure_prototypes(const Episode& episode, const Points<Real>& points,
                                      std::size_t e, Worker& worker) const {
  const kernels::Table& kernels = kernels::active();
  const std::size_t shots = setting_.episodes.shape().shots;
  const MatrixView<Real> distances = worker.prototype_to_base.view();
  for (std::size_t k = 0; k < distances.rows(); ++k) {
    const auto support = episode.support.subspan(k * shots, shots);
    if (shots == 1) {
      std::copy_n(sample_to_base_.row(support[0]), distances.cols(), distances.row(k));
      continue;
    }
    worker.base_rows.clear();
    for (const SampleIndex row : support) worker.base_rows.push_back(base_.of_samples.row(row));
    kernels::mean(kernels, worker.base_rows.data(), shots, base_.of_samples.stride(),
                  worker.base_dots.row(0));
    const Real norm = pass_.prototype_squared_norm(e, k);
    for (std::size_t t = 0; t < distances.cols(); ++t)
      worker.norms[t] = norm + base_.squared_norms[t];
    if (!kernels::distances(kernels, worker.norms.data(), worker.base_dots.row(0), distances.cols(),
                            distances.row(k)))
      continue;
    fit_again(episode, points, k, worker.support, worker.wide, worker.center.row(0));
    for (std::size_t t = 0; t < distances.cols(); ++t)
      if (kernels::loses_digits(worker.norms[t], worker.base_dots.row(0)[t]))
        distances[k][t] = plain_distance(worker.center.row(0), base_.prototypes.row(t));
  }
}

template class Stream<float>;
template class Stream<double>;

}  // namespace deepvoro
