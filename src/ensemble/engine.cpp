#include "ensemble/engine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "core/precision.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "ensemble/ensemble_device.hpp"
#include "ensemble/influence_field.hpp"
#include "ensemble/space_cache.hpp"
#include "kernels/kernels.hpp"
#include "stream.hpp"

namespace deepvoro {
namespace {

std::vector<Group> consecutive_groups(const Pool& members) {
  std::vector<Group> groups;
  for (std::size_t begin = 0; begin < members.size();) {
    std::size_t end = begin + 1;
    while (end < members.size() && members[begin].shares_points_with(members[end]) &&
           members[end - 1].geometry.growth() <= members[end].geometry.growth())
      ++end;
    groups.push_back({begin, {members.data() + begin, end - begin}});
    begin = end;
  }
  return groups;
}

// The spaces of groups from `first` on, as many as there are threads to fit them side by side.
// Empty where the first has none.
std::vector<std::shared_ptr<const Space>> next_spaces(std::span<const Group> groups,
                                                      std::size_t first, SpaceCache& cache,
                                                      unsigned threads) {
  Pool members;
  while (first + members.size() < groups.size() && members.size() < threads &&
         groups[first + members.size()].members.front().geometry.has_space())
    members.push_back(groups[first + members.size()].members.front());
  return cache.spaces(members, threads);
}

template <class Real>
void stream_lanes(const EpisodeSetting& setting, std::size_t dim, std::span<const Group> groups,
                  EpisodeRange range, const LaneVisitor<Real>& visit, const Progress& progress) {
  SpaceCache own_cache(setting.store, 0);  // asked once
  SpaceCache& cache = setting.spaces == nullptr ? own_cache : *setting.spaces;
  Stream<Real> stream(setting, dim, range, visit, groups);
  std::vector<std::shared_ptr<const Space>> spaces;
  std::size_t first_with_space = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto report = [&](double fraction) {
      if (progress)
        progress((static_cast<double>(g) + fraction) / static_cast<double>(groups.size()));
    };
    if (groups[g].members.front().geometry.has_space()) report(0);
    if (g >= first_with_space + spaces.size()) {
      spaces = next_spaces(groups, g, cache, setting.threads);
      first_with_space = g;
    }
    stream.run(groups[g], spaces.empty() ? nullptr : spaces[g - first_with_space].get(), report);
  }
}

// Episodes in batches whose rows need a bounded amount of memory, or a single episode.
std::vector<EpisodeRange> row_batches(const EpisodeSetting& setting, EpisodeRange range,
                                      std::size_t bytes_of_row) {
  const EpisodeShape& shape = setting.episodes.shape();
  const std::size_t rows = setting.largest_rows_bytes / bytes_of_row;
  const std::size_t batch =
      rows >= setting.store.split(setting.split).samples
          ? range.end - range.begin
          : std::max<std::size_t>(1, rows / (shape.total_support() + shape.total_queries()));
  std::vector<EpisodeRange> batches;
  for (std::size_t begin = range.begin; begin < range.end; begin += batch)
    batches.push_back({begin, std::min(range.end, begin + batch)});
  return batches;
}

// Streams groups whose views all have `dim` dimensions, a batch of episodes after the other.
template <class Real>
void stream_batches(const EpisodeSetting& setting, std::size_t dim, std::span<const Group> groups,
                    EpisodeRange range, const LaneVisitor<Real>& visit, const Progress& progress) {
  const auto batches =
      row_batches(setting, range, Stream<Real>::bytes_of_row(setting.store, dim, groups));
  for (std::size_t i = 0; i < batches.size(); ++i)
    stream_lanes<Real>(setting, dim, groups, batches[i], visit,
                       part_of(progress, i, batches.size()));
}

// Calls stream_batches with the visitor that make_visitor.operator()<Real>() makes.
template <class MakeVisitor>
void stream(const EpisodeSetting& setting, const Pool& members, EpisodeRange range,
            const MakeVisitor& make_visitor, const Progress& progress) {
  if (setting.threads < 1) throw usage_error("at least one thread is needed");
  check_members(setting.store, setting.split, members, "the pool");
  const std::vector<Group> groups = consecutive_groups(members);
  const auto dim_of = [&](const Group& group) {
    return setting.store.dim(group.members.front().view);
  };
  for (std::size_t begin = 0; begin < groups.size();) {
    const std::size_t dim = dim_of(groups[begin]);
    std::size_t end = begin + 1;
    while (end < groups.size() && dim_of(groups[end]) == dim) ++end;
    const std::span<const Group> run(groups.data() + begin, end - begin);
    const auto report = [&](double fraction) {
      if (progress)
        progress((static_cast<double>(begin) + fraction * static_cast<double>(run.size())) /
                 static_cast<double>(groups.size()));
    };
    if (dim < kFloatDim)
      stream_batches<double>(setting, dim, run, range, make_visitor.template operator()<double>(),
                             report);
    else
      stream_batches<float>(setting, dim, run, range, make_visitor.template operator()<float>(),
                            report);
    begin = end;
  }
}

std::size_t lanes_of_values(const EpisodeShape& shape) {
  return shape.ways * padded(shape.total_queries());
}

// Members in an order in which few of those that share points follow each other are quicker in
// another one, their values kept until all are there: of how many episodes at a time, or 0 where
// that does not pay.
std::size_t episodes_to_keep(const EpisodeSetting& setting, const Pool& members,
                             EpisodeRange range) {
  check_members(setting.store, setting.split, members, "the pool");
  const bool all_in_float = std::ranges::all_of(
      members, [&](const Member& member) { return setting.store.dim(member.view) >= kFloatDim; });
  if (!all_in_float || range.end == range.begin) return 0;
  const std::size_t of_episode =
      members.size() * lanes_of_values(setting.episodes.shape()) * sizeof(float);
  const std::size_t episodes =
      std::min(setting.largest_field_bytes / of_episode, range.end - range.begin);
  if (episodes == 0) return 0;
  const std::size_t rounds = (range.end - range.begin + episodes - 1) / episodes;
  const Pool reordered = picked(members, streaming_order(members));
  const bool pays =
      rounds * consecutive_groups(reordered).size() < consecutive_groups(members).size();
  return pays ? episodes : 0;
}

// As stream(), by way of a quicker order; `visit` sees the members in their own.
void stream_kept(const EpisodeSetting& setting, const Pool& members, EpisodeRange range,
                 std::size_t episodes_at_a_time, const LaneVisitor<float>& visit,
                 const Progress& progress) {
  const EpisodeShape& shape = setting.episodes.shape();
  const std::vector<std::size_t> order = streaming_order(members);
  const Pool reordered = picked(members, order);
  Matrix<float> kept(episodes_at_a_time * members.size(), lanes_of_values(shape));
  std::vector<Matrix<double>> scratch;
  for (unsigned i = 0; i < setting.threads; ++i)
    scratch.emplace_back(shape.ways, shape.total_queries());
  for (EpisodeRange part{range.begin, range.begin}; part.begin < range.end; part.begin = part.end) {
    part.end = std::min(part.begin + episodes_at_a_time, range.end);
    const auto row = [&](std::size_t member, std::size_t episode) {
      return kept.row((episode - part.begin) * members.size() + member);
    };
    const auto keep = [&]<class Real>() -> LaneVisitor<Real> {
      return [&](std::size_t member, std::size_t episode, MatrixView<const Real> values,
                 MatrixView<double>) {
        std::copy_n(values.data(), lanes_of_values(shape), row(order[member], episode));
      };
    };
    const auto report = [&](double fraction) {
      const double done = static_cast<double>(part.begin - range.begin) +
                          fraction * static_cast<double>(part.end - part.begin);
      if (progress) progress(done / static_cast<double>(range.end - range.begin));
    };
    stream(setting, reordered, part, keep, report);
    parallel_for(setting.threads, part.end - part.begin, 1,
                 [&](std::size_t e, std::size_t, unsigned worker) {
                   for (std::size_t member = 0; member < members.size(); ++member)
                     visit(member, part.begin + e,
                           {row(member, part.begin + e), shape.ways, shape.total_queries(),
                            padded(shape.total_queries())},
                           scratch[worker].view());
                 });
  }
}

}  // namespace

void stream_members(const EpisodeSetting& setting, const Pool& members, EpisodeRange range,
                    const MemberVisitor& visit, const Progress& progress) {
  const auto make_visitor = [&]<class Real>() -> LaneVisitor<Real> {
    return [&](std::size_t member, std::size_t episode, MatrixView<const Real> values,
               MatrixView<double> scratch) {
      const std::size_t ways = values.rows();
      const std::span<double> terms(scratch.data(), ways * values.cols());
      for (std::size_t k = 0; k < ways; ++k)
        for (std::size_t q = 0; q < values.cols(); ++q)
          terms[q * ways + k] = static_cast<double>(values.row(k)[q]);
      setting.influence.to_terms(terms);
      visit(member, episode, terms);
    };
  };
  stream(setting, members, range, make_visitor, progress);
}

void add_members(const EpisodeSetting& setting, const Pool& members, EpisodeRange range,
                 InfluenceField& field, const AdditionListener& added, const Progress& progress) {
  if (setting.device != nullptr && !added)
    return setting.device->add_members(setting, members, range, field, progress);
  const auto make_visitor = [&]<class Real>() -> LaneVisitor<Real> {
    return [&](std::size_t member, std::size_t episode, MatrixView<const Real> values,
               MatrixView<double> scratch) {
      const kernels::Table& kernels = kernels::active();
      const std::size_t count = values.rows() * values.stride();
      double* sums = field.sums(episode - range.begin).data();
      if (setting.influence.alpha() == 1) {
        kernels::accumulate(kernels, values.data(), count, sums);
      } else {
        const std::span<double> terms(scratch.data(), count);
        std::copy_n(values.data(), count, terms.begin());
        setting.influence.to_terms(terms);
        kernels::accumulate(kernels, terms.data(), count, sums);
      }
      if (added) added(member, episode);
    };
  };
  const std::size_t episodes = added ? episodes_to_keep(setting, members, range) : 0;
  if (episodes > 0)
    stream_kept(setting, members, range, episodes, make_visitor.template operator()<float>(),
                progress);
  else
    stream(setting, members, range, make_visitor, progress);
}

void count_members(const EpisodeSetting& setting, const Pool& members, EpisodeRange range,
                   const CountVisitor& visit, const Progress& progress) {
  // Whatever alpha is, the influence of a single center falls with its distance.
  const Influence nearest(1);
  const auto make_visitor = [&]<class Real>() -> LaneVisitor<Real> {
    return [&](std::size_t member, std::size_t episode, MatrixView<const Real> values,
               MatrixView<double>) {
      visit(member, episode, correct_queries(values, setting.episodes.shape(), nearest));
    };
  };
  stream(setting, members, range, make_visitor, progress);
}

std::vector<std::size_t> streaming_order(const Pool& members) {
  const auto place_of_first = [&](const Member& member, auto same) {
    const auto first =
        std::ranges::find_if(members, [&](const Member& other) { return same(other, member); });
    return static_cast<std::size_t>(first - members.begin());
  };
  const auto same_view = [](const Member& a, const Member& b) { return a.view == b.view; };
  const auto same_points = [](const Member& a, const Member& b) { return a.shares_points_with(b); };
  using Key = std::array<std::size_t, 3>;
  std::vector<Key> keys;
  for (const Member& member : members)
    keys.push_back({place_of_first(member, same_view), place_of_first(member, same_points),
                    member.geometry.growth()});
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
  const auto needs_base = std::ranges::find_if(
      members, [](const Member& member) { return member.geometry.needs_base(); });
  if (needs_base == members.end()) return;
  if (!store.has_split("base"))
    throw data_error(
        fmt::format("{}: has no split 'base', which the {} members of {} need; add it or do "
                    "without them",
                    store.folder().string(), needs_base->geometry.name(), origin));
  if (split == "base")
    throw usage_error(
        fmt::format("`split` base: the {} members of {} are built from the base classes, so their "
                    "accuracy there means nothing; use novel or val",
                    needs_base->geometry.name(), origin));
}

}  // namespace deepvoro
