#include "deepvoro/ensemble/engine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/ensemble/influence_field.hpp"
#include "deepvoro/features/transform.hpp"
#include "distance_pass.hpp"
#include "surrogate_episode.hpp"

namespace deepvoro {
namespace {

// Below this many dimensions the rounding of single elements to float32 can show in a distance.
constexpr std::size_t kFloatDim = 64;
constexpr std::size_t kRowGrain = 128;
constexpr std::size_t kEpisodeGrain = 8;

// How many nearest base classes a member takes; 0 when it is no surrogate member.
std::size_t neighbours(const Configuration& member) {
  const auto* surrogate = std::get_if<Surrogate>(&member.geometry);
  return surrogate == nullptr ? 0 : surrogate->R;
}

bool share_rows(const Configuration& a, const Configuration& b) {
  return a.view == b.view && a.transform == b.transform;
}

// A run of members that share view and transformation, and whose surrogate sets only grow.
struct Group {
  std::size_t first = 0;
  std::span<const Configuration> members;

  [[nodiscard]] std::size_t largest_R() const { return neighbours(members.back()); }
};

std::vector<Group> consecutive_groups(const Pool& members) {
  std::vector<Group> groups;
  for (std::size_t begin = 0; begin < members.size();) {
    std::size_t end = begin + 1;
    while (end < members.size() && share_rows(members[begin], members[end]) &&
           neighbours(members[end - 1]) <= neighbours(members[end]))
      ++end;
    groups.push_back({begin, {members.data() + begin, end - begin}});
    begin = end;
  }
  return groups;
}

void check_base_classes(const std::vector<std::vector<std::size_t>>& rows,
                        const FeatureStore& store) {
  for (std::size_t c = 0; c < rows.size(); ++c)
    if (rows[c].empty())
      throw data_error(
          fmt::format("{}: class '{}' of split base has no samples, so it has no "
                      "prototype; remove it from store.json",
                      store.folder().string(), store.split("base").classes[c]));
}

// Receives the values of one member in one episode, [ways x queries] with queries side by side, and
// as much scratch memory.
template <class Real>
using LaneVisitor = std::function<void(std::size_t member, std::size_t episode,
                                       MatrixView<const Real> values, MatrixView<double> scratch)>;

// Streams groups of members with rows held as Real.
template <class Real>
class Stream {
 public:
  Stream(const Arena& arena, EpisodeRange range, const LaneVisitor<Real>& visit, bool needs_base)
      : arena_(arena),
        range_(range),
        visit_(visit),
        labels_(arena.store.labels(arena.split)),
        pass_(labels_.size(), arena.store.dim(), labels_, arena.episodes, range, arena.threads),
        view_(arena.store, pass_.block_columns(), arena.threads),
        base_view_(arena.store, arena.store.dim(), arena.threads) {
    if (needs_base) {
      base_rows_ = arena.store.rows_by_class("base");
      check_base_classes(base_rows_, arena.store);
      const std::size_t bases = base_rows_.size();
      base_.prototypes = Matrix<Real>(bases, arena.store.dim());
      base_.squared_norms.resize(bases);
      base_.of_samples = Matrix<Real>(labels_.size(), bases);
      sample_to_base_ = Matrix<Real>(labels_.size(), bases);
      exact_base_ = Matrix<double>(bases, arena.store.dim());
    }
    for (unsigned i = 0; i < arena.threads; ++i)
      workers_.push_back(std::make_unique<Worker>(arena, base_rows_.size()));
  }

  void run(const Group& group, const Progress& progress) {
    const Configuration& shared = group.members.front();
    if (view_name_ != shared.view) view_.load(arena_.split, shared.view);
    view_name_ = shared.view;
    const RowTransformer transformer(view_, shared.transform, center_of(view_, shared.transform));
    const bool needs_base = group.largest_R() > 0;
    if (needs_base) fit_base_prototypes(shared, transformer.center());
    pass_.run(transformer, needs_base ? &base_ : nullptr);
    if (needs_base) measure_samples(transformer);

    const std::size_t count = range_.end - range_.begin;
    parallel_for(arena_.threads, count, kEpisodeGrain,
                 [&](std::size_t begin, std::size_t end, unsigned worker) {
                   for (std::size_t e = begin; e < end; ++e)
                     run_episode(group, transformer, e, *workers_[worker]);
                   if (worker == 0 && progress)
                     progress(static_cast<double>(end) / static_cast<double>(count));
                 });
  }

 private:
  // Scratch of one thread.
  struct Worker {
    Worker(const Arena& arena, std::size_t bases)
        : wide(padded(arena.store.dim())),
          row(1, arena.store.dim()),
          center(1, arena.store.dim()),
          support(arena.episodes.shape().shots, arena.store.dim()),
          query_norms(padded(arena.episodes.shape().total_queries())),
          norms(std::max(bases, query_norms.size() * arena.episodes.shape().ways)),
          distances(arena.episodes.shape().ways, arena.episodes.shape().total_queries()),
          terms(arena.episodes.shape().ways, arena.episodes.shape().total_queries()) {
      if (bases == 0) return;
      surrogate.emplace(arena.episodes.shape(), bases);
      base_dots = Matrix<Real>(1, bases);
      exact_support = Matrix<double>(arena.episodes.shape().shots, arena.store.dim());
      exact_prototype = Matrix<double>(1, arena.store.dim());
    }
    std::vector<double> wide;
    Matrix<Real> row;
    Matrix<Real> center;
    Matrix<Real> support;
    std::vector<Real> query_norms;
    std::vector<Real> norms;
    Matrix<Real> distances;  // [ways x queries]
    Matrix<double> terms;    // the same
    std::optional<SurrogateEpisode<Real>> surrogate;
    std::vector<const Real*> base_rows;
    Matrix<Real> base_dots;
    Matrix<double> exact_support;
    Matrix<double> exact_prototype;
    std::optional<std::size_t> exact_way;  // whose prototype is in exact_prototype
  };

  void fit_base_prototypes(const Configuration& shared, const std::vector<float>& center) {
    if (base_view_name_ != shared.view) base_view_.load("base", shared.view);
    base_view_name_ = shared.view;
    const RowTransformer transformer(base_view_, shared.transform, center);
    const kernels::Table& kernels = kernels::active();
    parallel_for(arena_.threads, base_rows_.size(), 1,
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

  void fit_base_prototype(const RowTransformer& transformer, std::size_t base_class,
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

  // Distances of all samples to the base prototypes.
  void measure_samples(const RowTransformer& transformer) {
    const kernels::Table& kernels = kernels::active();
    const std::size_t bases = base_rows_.size();
    parallel_for(arena_.threads, labels_.size(), kRowGrain,
                 [&](std::size_t begin, std::size_t end, unsigned number) {
                   Worker& worker = *workers_[number];
                   for (std::size_t r = begin; r < end; ++r) {
                     for (std::size_t t = 0; t < bases; ++t)
                       worker.norms[t] = pass_.sample_squared_norm(r) + base_.squared_norms[t];
                     Real* out = sample_to_base_.row(r);
                     if (!kernels::distances(kernels, worker.norms.data(), base_.of_samples.row(r),
                                             bases, out))
                       continue;
                     transformer.columns(r, 0, worker.row.stride(), worker.wide.data(),
                                         worker.row.row(0));
                     for (std::size_t t = 0; t < bases; ++t)
                       if (is_close(out[t], worker.norms[t]))
                         out[t] = plain_distance(worker.row.row(0), base_.prototypes.row(t));
                   }
                 });
  }

  // Where cancellation shows, distances are computed again from differences.
  static bool is_close(Real distance, Real norms) { return distance * distance * 63 < norms; }

  Real plain_distance(const Real* a, const Real* b) const {
    const std::size_t length = padded(arena_.store.dim());
    double squared = 0;
    kernels::squared_distances(kernels::active(), a, b, length, 1, length, &squared);
    return static_cast<Real>(std::sqrt(squared));
  }

  void run_episode(const Group& group, const RowTransformer& transformer, std::size_t e,
                   Worker& worker) {
    const Episode episode = arena_.episodes[range_.begin + e];
    measure_episode(episode, transformer, e, worker);
    if (group.largest_R() > 0) {
      worker.exact_way.reset();
      measure_prototypes(episode, transformer, e, worker);
      worker.surrogate->begin(episode, worker.distances.view(), sample_to_base_.view(),
                              group.largest_R(), [&](std::size_t way, std::size_t base) {
                                return exact_base_distance(episode, transformer, way, base, worker);
                              });
    }
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      MatrixView<const Real> values = worker.distances.view();
      if (const auto* surrogate = std::get_if<Surrogate>(&group.members[i].geometry)) {
        worker.surrogate->grow_to(surrogate->R);
        values = worker.surrogate->combine(surrogate->beta, surrogate->gamma);
      }
      visit_(group.first + i, range_.begin + e, values, worker.terms.view());
    }
  }

  // Distances of an episode's queries to its prototypes.
  void measure_episode(const Episode& episode, const RowTransformer& transformer, std::size_t e,
                       Worker& worker) {
    const MatrixView<Real> distances = worker.distances.view();
    const std::size_t stride = distances.stride();
    for (std::size_t q = 0; q < distances.cols(); ++q)
      worker.query_norms[q] = pass_.sample_squared_norm(episode.query[q]);
    for (std::size_t k = 0; k < distances.rows(); ++k) {
      const Real of_prototype = pass_.prototype_squared_norm(e, k);
      for (std::size_t q = 0; q < stride; ++q)
        worker.norms[k * stride + q] = worker.query_norms[q] + of_prototype;
    }
    const bool close = kernels::distances(kernels::active(), worker.norms.data(), pass_.dots(e),
                                          distances.rows() * stride, distances.data());
    if (!close) return;
    for (std::size_t k = 0; k < distances.rows(); ++k)
      for (std::size_t q = 0; q < distances.cols(); ++q)
        if (is_close(distances[k][q], worker.norms[k * stride + q]))
          distances[k][q] = measure_again(episode, transformer, q, k, worker);
  }

  // A prototype from whole rows.
  template <class T>
  void fit_again(const Episode& episode, const RowTransformer& transformer, std::size_t way,
                 Matrix<T>& support, std::vector<double>& wide, T* out) const {
    const std::size_t shots = support.rows();
    std::vector<const T*> rows;
    for (std::size_t s = 0; s < shots; ++s) {
      transformer.columns(episode.support[way * shots + s], 0, support.stride(), wide.data(),
                          support.row(s));
      rows.push_back(support.row(s));
    }
    kernels::mean(kernels::active(), rows.data(), shots, support.stride(), out);
  }

  // Squared.
  double exact_base_distance(const Episode& episode, const RowTransformer& transformer,
                             std::size_t way, std::size_t base, Worker& worker) const {
    if (worker.exact_way != way)
      fit_again(episode, transformer, way, worker.exact_support, worker.wide,
                worker.exact_prototype.row(0));
    worker.exact_way = way;
    double squared = 0;
    kernels::squared_distances(kernels::active(), worker.exact_prototype.row(0),
                               exact_base_.row(base), exact_base_.stride(), 1, exact_base_.stride(),
                               &squared);
    return squared;
  }

  Real measure_again(const Episode& episode, const RowTransformer& transformer, std::size_t query,
                     std::size_t way, Worker& worker) const {
    const std::size_t length = worker.row.stride();
    fit_again(episode, transformer, way, worker.support, worker.wide, worker.center.row(0));
    transformer.columns(episode.query[query], 0, length, worker.wide.data(), worker.row.row(0));
    return plain_distance(worker.row.row(0), worker.center.row(0));
  }

  // Distances of an episode's prototypes to the base prototypes. The dot product of a mean is the
  // mean of dot products, so nothing of the length of a row is touched.
  void measure_prototypes(const Episode& episode, const RowTransformer& transformer, std::size_t e,
                          Worker& worker) const {
    const kernels::Table& kernels = kernels::active();
    const std::size_t shots = arena_.episodes.shape().shots;
    const MatrixView<Real> distances = worker.surrogate->prototype_to_base();
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
      if (!kernels::distances(kernels, worker.norms.data(), worker.base_dots.row(0),
                              distances.cols(), distances.row(k)))
        continue;
      fit_again(episode, transformer, k, worker.support, worker.wide, worker.center.row(0));
      for (std::size_t t = 0; t < distances.cols(); ++t)
        if (is_close(distances[k][t], worker.norms[t]))
          distances[k][t] = plain_distance(worker.center.row(0), base_.prototypes.row(t));
    }
  }

  const Arena& arena_;
  EpisodeRange range_;
  const LaneVisitor<Real>& visit_;
  std::vector<std::size_t> labels_;
  DistancePass<Real> pass_;
  LoadedView view_;
  std::string view_name_;
  LoadedView base_view_;
  std::string base_view_name_;
  std::vector<std::vector<std::size_t>> base_rows_;
  BaseDots<Real> base_;
  Matrix<Real> sample_to_base_;  // distances, [samples x base classes]
  Matrix<double> exact_base_;    // base prototypes, for close decisions
  std::vector<std::unique_ptr<Worker>> workers_;
};

template <class Real>
void stream_lanes(const Arena& arena, const Pool& members, EpisodeRange range,
                  const LaneVisitor<Real>& visit, const Progress& progress) {
  const std::vector<Group> groups = consecutive_groups(members);
  Stream<Real> stream(arena, range, visit, std::ranges::any_of(members, neighbours));
  for (std::size_t g = 0; g < groups.size(); ++g)
    stream.run(groups[g], [&](double fraction) {
      if (progress)
        progress((static_cast<double>(g) + fraction) / static_cast<double>(groups.size()));
    });
}

// Calls stream_lanes with the visitor that make_visitor.operator()<Real>() makes.
template <class MakeVisitor>
void stream(const Arena& arena, const Pool& members, EpisodeRange range,
            const MakeVisitor& make_visitor, const Progress& progress) {
  if (arena.threads < 1) throw usage_error("at least one thread is needed");
  check_members(arena.store, arena.split, members, "the pool");
  if (arena.store.dim() < kFloatDim)
    stream_lanes<double>(arena, members, range, make_visitor.template operator()<double>(),
                         progress);
  else
    stream_lanes<float>(arena, members, range, make_visitor.template operator()<float>(), progress);
}

}  // namespace

void stream_members(const Arena& arena, const Pool& members, EpisodeRange range,
                    const MemberVisitor& visit, const Progress& progress) {
  const auto make_visitor = [&]<class Real>() -> LaneVisitor<Real> {
    return [&](std::size_t member, std::size_t episode, MatrixView<const Real> values,
               MatrixView<double> scratch) {
      const std::size_t ways = values.rows();
      const std::span<double> terms(scratch.data(), ways * values.cols());
      for (std::size_t k = 0; k < ways; ++k)
        for (std::size_t q = 0; q < values.cols(); ++q)
          terms[q * ways + k] = static_cast<double>(values.row(k)[q]);
      arena.influence.to_terms(terms);
      visit(member, episode, terms);
    };
  };
  stream(arena, members, range, make_visitor, progress);
}

void add_members(const Arena& arena, const Pool& members, EpisodeRange range, InfluenceField& field,
                 const AdditionListener& added, const Progress& progress) {
  const auto make_visitor = [&]<class Real>() -> LaneVisitor<Real> {
    return [&](std::size_t member, std::size_t episode, MatrixView<const Real> values,
               MatrixView<double> scratch) {
      const kernels::Table& kernels = kernels::active();
      const std::size_t count = values.rows() * values.stride();
      double* sums = field.sums(episode - range.begin).data();
      if (arena.influence.alpha() == 1) {
        kernels::accumulate(kernels, values.data(), count, sums);
      } else {
        const std::span<double> terms(scratch.data(), count);
        std::copy_n(values.data(), count, terms.begin());
        arena.influence.to_terms(terms);
        kernels::accumulate(kernels, terms.data(), count, sums);
      }
      if (added) added(member, episode);
    };
  };
  stream(arena, members, range, make_visitor, progress);
}

void count_members(const Arena& arena, const Pool& members, EpisodeRange range,
                   const CountVisitor& visit, const Progress& progress) {
  // Whatever alpha is, the influence of a single center falls with its distance.
  const Influence nearest(1);
  const auto make_visitor = [&]<class Real>() -> LaneVisitor<Real> {
    return [&](std::size_t member, std::size_t episode, MatrixView<const Real> values,
               MatrixView<double>) {
      visit(member, episode, correct_queries(values, arena.episodes.shape(), nearest));
    };
  };
  stream(arena, members, range, make_visitor, progress);
}

std::vector<std::size_t> streaming_order(const Pool& members) {
  const auto place_of_first = [&](const Configuration& member, auto same) {
    const auto first = std::ranges::find_if(
        members, [&](const Configuration& other) { return same(other, member); });
    return static_cast<std::size_t>(first - members.begin());
  };
  const auto same_view = [](const Configuration& a, const Configuration& b) {
    return a.view == b.view;
  };
  using Key = std::array<std::size_t, 3>;
  std::vector<Key> keys;
  for (const Configuration& member : members)
    keys.push_back({place_of_first(member, same_view), place_of_first(member, share_rows),
                    neighbours(member)});
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return keys[i]; });
  return order;
}

void check_members(const FeatureStore& store, const std::string& split, const Pool& members,
                   const std::string& origin) {
  (void)store.split(split);
  if (members.empty()) throw usage_error(fmt::format("{}: has no members", origin));
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!store.has_view(members[i].view))
      throw data_error(
          fmt::format("{}: member {} names view '{}', which {} does not have; it has {}", origin, i,
                      members[i].view, store.folder().string(), fmt::join(store.views(), ", ")));
  if (std::ranges::any_of(members, neighbours) && !store.has_split("base"))
    throw data_error(
        fmt::format("{}: has no split 'base', which the surrogate members of {} need; add it or do "
                    "without them",
                    store.folder().string(), origin));
  if (std::ranges::any_of(members, neighbours) && split == "base")
    throw usage_error(fmt::format(
        "--split base: the surrogate members of {} are made of the base classes, so their "
        "accuracy there means nothing; use novel or val",
        origin));
}

}  // namespace deepvoro
