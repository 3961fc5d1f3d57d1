#include "episodes/episode_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/text.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

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

void cut_to_smallest(ClassRows& classes) {
  const auto by_size = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  const std::size_t smallest = std::ranges::min_element(classes, by_size)->size();
  for (auto& rows : classes) rows.resize(smallest);
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
        "{}: class '{}' has {}, fewer than {} + {}; lower `shots` or `queries`, or make a store "
        "without it ({} of {} classes are too small)",
        samples.where, samples.class_names[static_cast<std::size_t>(smallest - sizes.begin())],
        counted(*smallest, "sample"), counted(shape.shots, "shot"),
        counted(shape.queries, "query", "queries"), std::ranges::count_if(sizes, too_small),
        sizes.size()));
}

const EpisodeShape& checked(const SamplePool& samples, const EpisodeShape& shape,
                            std::size_t count) {
  check_shape(shape, count);
  check_samples(samples, shape);
  check_count(shape, count);
  return shape;
}

}  // namespace

EpisodeStream::EpisodeStream(const SamplePool& samples, const EpisodeShape& shape,
                             Protocol protocol, std::size_t count, std::uint32_t seed)
    : protocol_(protocol),
      most_(count),
      random_(seed),
      episodes_(checked(samples, shape, count)),
      chosen_(shape.ways),
      of_way_(shape.shots + shape.queries) {
  classes_ = rows_by_class(samples);
  if (protocol == Protocol::dc) cut_to_smallest(classes_);
}

const EpisodeList& EpisodeStream::at_least(std::size_t count) & {
  if (drawn() == 0) episodes_.reserve(count);
  while (drawn() < count) draw_one();
  if (drawn() == most_) classes_ = {};  // they take memory for each row, and are not needed again
  return episodes_;
}

void EpisodeStream::draw_one() {
  random_.begin_permutation(classes_.size(), chosen_);
  for (std::size_t way = 0; way < chosen_.size(); ++way) {
    const std::vector<SampleIndex>& rows = classes_[chosen_[way]];
    draw_way(way, rows.size());
    for (std::size_t i = 0; i < of_way_.size(); ++i) of_way_[i] = rows[order_[i]];
    episodes_.append_way(of_way_);
  }
}

// The release of DC shuffles one order for all ways of an episode again and again.
void EpisodeStream::draw_way(std::size_t way, std::size_t rows) {
  if (protocol_ == Protocol::deepvoro) {
    order_.resize(of_way_.size());
    random_.begin_permutation(rows, order_);
    return;
  }
  if (way == 0) {
    order_.resize(rows);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }
  random_.shuffle(order_);
}

EpisodeList draw_episodes(const SamplePool& samples, const EpisodeShape& shape, Protocol protocol,
                          std::size_t count, std::uint32_t seed) {
  return EpisodeStream(samples, shape, protocol, count, seed).at_least(count);
}

}  // namespace deepvoro
