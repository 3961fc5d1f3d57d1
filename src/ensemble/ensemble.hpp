#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deepvoro/ensemble/scores.hpp"
#include "ensemble/engine.hpp"
#include "ensemble/selection.hpp"

namespace deepvoro {

// Accuracy in percent of the selected members together, for each episode.
[[nodiscard]] std::vector<double> evaluate_ensemble(const EpisodeSetting& setting,
                                                    const Selection& selection,
                                                    const ScoreSink& scores = {},
                                                    const Progress& progress = {});

// How many queries of all episodes together each member assigns rightly on its own. Members may
// come in any order.
[[nodiscard]] std::vector<std::uint64_t> correct_of_each_member(const EpisodeSetting& setting,
                                                                const Pool& members,
                                                                const Progress& progress = {});
// The same for each of some blocks of episodes, which follow each other.
[[nodiscard]] std::vector<std::vector<std::uint64_t>> correct_in_blocks(
    const EpisodeSetting& setting, const Pool& members, std::span<const EpisodeRange> blocks,
    const Progress& progress = {});

// Episodes in batches whose influence field has a bounded size, or a single episode, so that very
// many ways or episodes need more time instead of more memory.
[[nodiscard]] std::vector<EpisodeRange> field_batches(const EpisodeList& episodes,
                                                      std::size_t largest_field_bytes);

// Reads a batch off its field: the accuracy of its episodes in percent, and their influence.
void assign_queries(const InfluenceField& field, EpisodeRange batch, std::span<double> accuracy,
                    const ScoreSink& scores, unsigned threads);

}  // namespace deepvoro
