#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "deepvoro/study/tune.hpp"

namespace deepvoro {

// Members that are measured on their own, on all episodes.
struct TuningStep {
  Pool members;
  std::size_t passes = 0;  // over the rows of a view

  // Measured: a pass costs as much as looking at this many members.
  [[nodiscard]] double cost() const {
    constexpr double members_per_pass = 10;
    return static_cast<double>(members.size()) + members_per_pass * static_cast<double>(passes);
  }
};

// The number of correct queries of each member of a step: whole numbers, so that neither threads
// nor an interruption nor shards can change a choice.
using Counts = std::vector<std::uint64_t>;

// Gives the counts of the steps of one stage, which do not depend on each other; what the steps of
// the next stage are depends on them.
using CountStage = std::function<std::vector<Counts>(const std::vector<TuningStep>& stage)>;

// How many steps each stage has.
[[nodiscard]] std::vector<std::size_t> steps_of_stages(const Tuning& request);
[[nodiscard]] double cost_of_all_steps(const Tuning& request);

// What is chosen. `request` is completed.
[[nodiscard]] TuningResult choose_members(const Tuning& request, const CountStage& count);

}  // namespace deepvoro
