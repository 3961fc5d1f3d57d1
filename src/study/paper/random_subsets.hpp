#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ensemble/engine.hpp"

namespace deepvoro {

// How many queries of all episodes random subsets of a pool assign rightly, [draws][sizes]. Draw d
// of a size has the members of Selection::random(pool, size, first_seed + d), so within a draw a
// larger subset contains the smaller ones. Sizes ascend.
[[nodiscard]] std::vector<std::vector<std::uint64_t>> correct_of_random_subsets(
    const EpisodeSetting& setting, const Pool& pool, const std::vector<std::size_t>& sizes,
    std::size_t draws, std::uint32_t first_seed, const Progress& progress = {});

}  // namespace deepvoro
