#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/core/progress.hpp"
#include "deepvoro/ensemble/pool.hpp"
#include "deepvoro/episodes/episode.hpp"
#include "deepvoro/features/store.hpp"
#include "deepvoro/geometry/influence.hpp"

namespace deepvoro {

class EnsembleDevice;
class SpaceCache;

// Where members are measured: episodes of one split of a store.
struct EpisodeSetting {
  const FeatureStore& store;
  std::string split;
  const EpisodeList& episodes;
  Influence influence;
  unsigned threads = 1;
  SpaceCache* spaces = nullptr;  // of this store, kept from one measurement to the next
  std::size_t largest_field_bytes = std::size_t{1} << 30U;  // more episodes go in batches
  std::size_t largest_rows_bytes = std::size_t{1} << 30U;   // the same of what is kept of rows
  EnsembleDevice* device = nullptr;  // on which members are added up; nullptr: the CPU
};

struct EpisodeRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Receives the terms of one member in one episode: distances (or the surrogate values in their
// place) to the power of alpha, [queries x ways]. Called from several threads, but for any one
// episode in the order of the members.
using MemberVisitor =
    std::function<void(std::size_t member, std::size_t episode, std::span<const double> terms)>;

// Streams members over episodes, member by member: the rows that episodes draw are transformed once
// for each run of members that share view and transformation, and all episodes are served from
// them. Memory is that of these rows in one view, whatever the number of members. Other rows are
// not looked at, but for a few that say where the middle of the split is. Rows of fewer than 64
// dimensions are kept in double, where one rounding can matter; longer ones in float32.
void stream_members(const EpisodeSetting& setting, const Pool& members, EpisodeRange range,
                    const MemberVisitor& visit, const Progress& progress = {});

// The same for members that are only to be added up, which is quicker: adds them to the influence
// of the range's episodes, the first of which is the field's first. `added` is told after each
// addition, from several threads, but for any one episode in the order of the members; the CPU does
// the work then, whatever the device. Where members that share points are apart, they are measured
// together all the same and their values kept meanwhile, in no more memory than a field may have.
class InfluenceField;
using AdditionListener = std::function<void(std::size_t member, std::size_t episode)>;
void add_members(const EpisodeSetting& setting, const Pool& members, EpisodeRange range,
                 InfluenceField& field, const AdditionListener& added = {},
                 const Progress& progress = {});

// The same for members that are only to be counted: how many queries each of them alone assigns to
// their class. Called from several threads.
using CountVisitor =
    std::function<void(std::size_t member, std::size_t episode, std::uint32_t correct_queries)>;
void count_members(const EpisodeSetting& setting, const Pool& members, EpisodeRange range,
                   const CountVisitor& visit, const Progress& progress = {});

// The order in which streaming some members is cheapest: those that share a view together, within
// it those that share a transformation, within these by growing R.
[[nodiscard]] std::vector<std::size_t> streaming_order(const Pool& members);

// Throws a data error when the store lacks a view or split that the members need. `origin` says
// where the members come from.
void check_members(const FeatureStore& store, const std::string& split, const Pool& members,
                   const std::string& origin);

}  // namespace deepvoro
