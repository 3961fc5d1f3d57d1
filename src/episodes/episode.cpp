#include "deepvoro/episodes/episode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "core/names.hpp"
#include "core/random.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

constexpr std::array kProtocolNames = {"deepvoro", "dc"};

using ClassRows = std::vector<std::vector<SampleIndex>>;

// Rows of each class; classes in order of first appearance, as the reference protocol numbers them.
ClassRows rows_by_class(const SamplePool& samples) {
  constexpr std::size_t unseen = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> number(samples.class_names.size(), unseen);
  ClassRows rows;
  for (std::size_t row = 0; row < samples.labels.size(); ++row) {
    std::size_t& of_class = number[samples.labels[row]];
    if (of_class == unseen) {
      of_class = rows.size();
      rows.emplace_back();
    }
    rows[of_class].push_back(static_cast<SampleIndex>(row));
  }
  return rows;
}

void check_shape(const EpisodeShape& shape, std::size_t count) {
  if (shape.ways < 2) throw usage_error("`ways` must be at least 2");
  if (shape.shots < 1) throw usage_error("`shots` must be at least 1");
  if (shape.queries < 1) throw usage_error("`queries` must be at least 1");
  if (count < 1) throw usage_error("`episodes` must be at least 1");
}

// The shape has been checked: it fits the samples.
void check_count(const EpisodeShape& shape, std::size_t count) {
  constexpr std::size_t most_rows = std::size_t{1} << 33U;
  if (count > most_rows / (shape.total_support() + shape.total_queries()))
    throw usage_error(
        fmt::format("`episodes` {}: too many to be kept in memory; use fewer", count));
}

void check_samples(const SamplePool& samples, const EpisodeShape& shape) {
  if (samples.labels.size() > std::numeric_limits<SampleIndex>::max())
    throw data_error(fmt::format("{}: has more than 2^32 - 1 samples", samples.where));
  if (shape.ways > samples.class_names.size())
    throw data_error(
        fmt::format("{}: has {} classes, fewer than the {} ways asked for; lower `ways`",
                    samples.where, samples.class_names.size(), shape.ways));
  std::vector<std::size_t> sizes(samples.class_names.size());
  for (const std::size_t label : samples.labels) ++sizes[label];
  const auto too_small = [&](std::size_t size) {
    return size < shape.shots || size - shape.shots < shape.queries;
  };
  const auto smallest = std::ranges::min_element(sizes);
  if (too_small(*smallest))
    throw data_error(fmt::format(
        "{}: class '{}' has {} samples, fewer than {} shots + {} queries; lower `shots` or "
        "`queries`, "
        "or make a store without it ({} of {} classes are too small)",
        samples.where, samples.class_names[static_cast<std::size_t>(smallest - sizes.begin())],
        *smallest, shape.shots, shape.queries, std::ranges::count_if(sizes, too_small),
        sizes.size()));
}

}  // namespace

Episode EpisodeList::operator[](std::size_t index) const {
  const std::size_t support = shape_.total_support();
  const std::size_t query = shape_.total_queries();
  const SampleIndex* start = rows_.data() + index * (support + query);
  return {{start, support}, {start + support, query}};
}

EpisodeList EpisodeList::part(std::size_t begin, std::size_t end) const {
  const auto rows_of = [&](std::size_t episodes) {
    return rows_.begin() + static_cast<std::ptrdiff_t>(
                               episodes * (shape_.total_support() + shape_.total_queries()));
  };
  EpisodeList some(shape_);
  some.first_ = number(begin);
  some.rows_.assign(rows_of(begin), rows_of(end));
  return some;
}

EpisodeList EpisodeList::replaced(const std::function<SampleIndex(SampleIndex)>& other) const {
  EpisodeList all = *this;
  std::ranges::transform(all.rows_, all.rows_.begin(), other);
  return all;
}

void EpisodeList::append_way(std::span<const SampleIndex> support_then_query) {
  const auto shots = static_cast<std::ptrdiff_t>(shape_.shots);
  const auto begin = support_then_query.begin();
  pending_support_.insert(pending_support_.end(), begin, begin + shots);
  pending_query_.insert(pending_query_.end(), begin + shots, support_then_query.end());
  if (pending_support_.size() < shape_.total_support()) return;
  rows_.insert(rows_.end(), pending_support_.begin(), pending_support_.end());
  rows_.insert(rows_.end(), pending_query_.begin(), pending_query_.end());
  pending_support_.clear();
  pending_query_.clear();
}

Protocol protocol_named(const std::string& name) {
  return value_named<Protocol>(name, kProtocolNames, "`protocol` {}: unknown; use deepvoro or dc");
}

const char* name(Protocol protocol) {
  return name_of(protocol, kProtocolNames);
}

EpisodeList draw_episodes(const SamplePool& samples, const EpisodeShape& shape, Protocol protocol,
                          std::size_t count, std::uint32_t seed) {
  check_shape(shape, count);
  check_samples(samples, shape);
  check_count(shape, count);
  ClassRows classes = rows_by_class(samples);
  if (protocol == Protocol::dc) {
    const auto by_size = [](const auto& a, const auto& b) { return a.size() < b.size(); };
    const std::size_t smallest = std::ranges::min_element(classes, by_size)->size();
    for (auto& rows : classes) rows.resize(smallest);
  }

  LegacyRandom random(seed);
  EpisodeList episodes(shape);
  std::vector<std::size_t> order;
  std::vector<SampleIndex> drawn(shape.shots + shape.queries);
  for (std::size_t e = 0; e < count; ++e) {
    const std::vector<std::size_t> chosen = random.permutation(classes.size());
    for (std::size_t way = 0; way < shape.ways; ++way) {
      const std::vector<SampleIndex>& rows = classes[chosen[way]];
      if (way == 0 || protocol == Protocol::deepvoro) {
        order.resize(rows.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
      }
      random.shuffle(order);
      for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = rows[order[i]];
      episodes.append_way(drawn);
    }
  }
  return episodes;
}

}  // namespace deepvoro
