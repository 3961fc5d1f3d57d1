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
#include "deepvoro/features/transform.hpp"
#include "deepvoro/heads/prototypes.hpp"
#include "surrogate_members.hpp"

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

std::vector<std::vector<std::uint32_t>> base_rows_by_class(const FeatureStore& store) {
  const FeatureStore::Split& base = store.split("base");
  const std::vector<std::size_t> labels = store.labels("base");
  std::vector<std::vector<std::uint32_t>> rows(base.classes.size());
  for (std::size_t row = 0; row < labels.size(); ++row)
    rows[labels[row]].push_back(static_cast<std::uint32_t>(row));
  for (std::size_t c = 0; c < rows.size(); ++c)
    if (rows[c].empty())
      throw data_error(
          fmt::format("{}: class '{}' of split base has no samples, so it has no "
                      "prototype; remove it from store.json",
                      store.folder().string(), base.classes[c]));
  return rows;
}

// Streams groups of members with rows held as Real.
template <class Real>
class Stream {
 public:
  Stream(const Arena& arena, EpisodeRange range, const MemberVisitor& visit, bool needs_base)
      : arena_(arena),
        range_(range),
        visit_(visit),
        rows_(arena.store.split(arena.split).samples, arena.store.dim()) {
    if (needs_base) {
      base_rows_ = base_rows_by_class(arena.store);
      base_.prototypes = Matrix<Real>(base_rows_.size(), arena.store.dim());
      base_.of_samples = Matrix<Real>(rows_.rows(), base_rows_.size());
    }
    for (unsigned i = 0; i < arena.threads; ++i)
      workers_.push_back(std::make_unique<Worker>(arena, base_rows_.size()));
  }

  void run(const Group& group, const std::function<void(double)>& progress) {
    const Configuration& shared = group.members.front();
    transform_split(shared);
    if (group.largest_R() > 0) measure_base(shared);
    const std::size_t count = range_.end - range_.begin;
    parallel_for(arena_.threads, count, kEpisodeGrain,
                 [&](std::size_t begin, std::size_t end, unsigned worker) {
                   for (std::size_t e = begin; e < end; ++e)
                     run_episode(group, range_.begin + e, *workers_[worker]);
                   if (worker == 0 && progress)
                     progress(static_cast<double>(end) / static_cast<double>(count));
                 });
  }

 private:
  // Scratch of one thread.
  struct Worker {
    Worker(const Arena& arena, std::size_t bases)
        : wide(padded(arena.store.dim())),
          sum(padded(arena.store.dim())),
          head(arena.episodes.shape().ways, arena.store.dim()),
          distances(arena.episodes.shape().total_queries() * arena.episodes.shape().ways),
          terms(distances.size()) {
      if (bases > 0) surrogate.emplace(arena.episodes.shape(), bases);
    }
    std::vector<double> wide;
    std::vector<double> sum;
    PrototypeHead<Real> head;
    std::vector<double> distances;
    std::vector<double> terms;
    std::optional<SurrogateEpisode<Real>> surrogate;
  };

  std::string place(const std::string& split, const std::string& view) const {
    return arena_.store.view_file(split, view).string();
  }

  void transform_split(const Configuration& shared) {
    const FeatureRows source = arena_.store.features(arena_.split, shared.view);
    const RowTransformer transformer(source, shared.transform, place(arena_.split, shared.view));
    parallel_for(arena_.threads, rows_.rows(), kRowGrain,
                 [&](std::size_t begin, std::size_t end, unsigned worker) {
                   for (std::size_t r = begin; r < end; ++r)
                     transformer.row(r, workers_[worker]->wide.data(), rows_.row(r));
                 });
  }

  void measure_base(const Configuration& shared) {
    const FeatureRows source = arena_.store.features("base", shared.view);
    const RowTransformer transformer(source, shared.transform, place("base", shared.view));
    parallel_for(arena_.threads, base_rows_.size(), 1,
                 [&](std::size_t begin, std::size_t end, unsigned worker) {
                   for (std::size_t c = begin; c < end; ++c)
                     fit_base_prototype(transformer, c, *workers_[worker]);
                 });
    parallel_for(arena_.threads, rows_.rows(), kRowGrain,
                 [&](std::size_t begin, std::size_t end, unsigned worker) {
                   std::vector<double>& squared = workers_[worker]->sum;
                   squared.resize(std::max(squared.size(), base_rows_.size()));
                   for (std::size_t r = begin; r < end; ++r) {
                     kernels::squared_distances(kernels::active(), rows_.row(r),
                                                base_.prototypes.row(0), base_.prototypes.stride(),
                                                base_rows_.size(), rows_.stride(), squared.data());
                     for (std::size_t t = 0; t < base_rows_.size(); ++t)
                       base_.of_samples.row(r)[t] = static_cast<Real>(std::sqrt(squared[t]));
                   }
                 });
  }

  void fit_base_prototype(const RowTransformer& transformer, std::size_t base_class,
                          Worker& worker) {
    Real* row = base_.prototypes.row(base_class);
    const std::size_t length = base_.prototypes.stride();
    worker.sum.assign(length, 0.0);
    for (const std::uint32_t index : base_rows_[base_class]) {
      transformer.row(index, worker.wide.data(), row);
      for (std::size_t i = 0; i < length; ++i) worker.sum[i] += static_cast<double>(row[i]);
    }
    const auto count = static_cast<double>(base_rows_[base_class].size());
    for (std::size_t i = 0; i < length; ++i) row[i] = static_cast<Real>(worker.sum[i] / count);
  }

  void run_episode(const Group& group, std::size_t index, Worker& worker) {
    const Episode episode = arena_.episodes[index];
    const std::size_t ways = arena_.episodes.shape().ways;
    worker.head.fit(rows_.view(), episode.support);
    for (std::size_t q = 0; q < episode.query.size(); ++q)
      worker.head.squared_distances(rows_.row(episode.query[q]),
                                    worker.distances.data() + q * ways);
    for (double& distance : worker.distances) distance = std::sqrt(distance);
    if (group.largest_R() > 0)
      worker.surrogate->begin(base_, episode, worker.head.prototypes(), group.largest_R());

    for (std::size_t i = 0; i < group.members.size(); ++i) {
      if (const auto* surrogate = std::get_if<Surrogate>(&group.members[i].geometry)) {
        worker.surrogate->grow_to(surrogate->R);
        worker.surrogate->combine(worker.distances, surrogate->beta, surrogate->gamma,
                                  worker.terms);
      } else {
        worker.terms = worker.distances;
      }
      arena_.influence.to_terms(worker.terms);
      visit_(group.first + i, index, worker.terms);
    }
  }

  const Arena& arena_;
  EpisodeRange range_;
  const MemberVisitor& visit_;
  Matrix<Real> rows_;  // the split, transformed
  std::vector<std::vector<std::uint32_t>> base_rows_;
  BaseDistances<Real> base_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

template <class Real>
void stream_as(const Arena& arena, const Pool& members, EpisodeRange range,
               const MemberVisitor& visit, const Progress& progress) {
  const std::vector<Group> groups = consecutive_groups(members);
  Stream<Real> stream(arena, range, visit, std::ranges::any_of(members, neighbours));
  for (std::size_t g = 0; g < groups.size(); ++g)
    stream.run(groups[g], [&](double fraction) {
      if (progress)
        progress((static_cast<double>(g) + fraction) / static_cast<double>(groups.size()));
    });
}

}  // namespace

void stream_members(const Arena& arena, const Pool& members, EpisodeRange range,
                    const MemberVisitor& visit, const Progress& progress) {
  check_members(arena.store, arena.split, members, "the pool");
  if (arena.store.dim() < kFloatDim)
    stream_as<double>(arena, members, range, visit, progress);
  else
    stream_as<float>(arena, members, range, visit, progress);
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
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!store.has_view(members[i].view))
      throw data_error(
          fmt::format("{}: member {} names view '{}', which {} does not have; it has {}", origin, i,
                      members[i].view, store.folder().string(), fmt::join(store.views(), ", ")));
  if (std::ranges::any_of(members, neighbours) && !store.has_split("base"))
    throw data_error(fmt::format(
        "{}: has no split 'base', which the surrogate members of {} need; add it or use "
        "--method deepvoro",
        store.folder().string(), origin));
}

}  // namespace deepvoro
