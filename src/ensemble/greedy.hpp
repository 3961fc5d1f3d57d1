#pragma once

#include <cstddef>
#include <vector>

#include "ensemble/engine.hpp"

namespace deepvoro {

// Members chosen one after the other on the validation split: in every step the one that makes the
// ensemble best there, the same one again if it does. Distances of a member are divided by their
// mean on val, so that none counts more because its space is larger.
class GreedyEnsemble {
 public:
  static constexpr std::size_t kMostSteps = 30;
  static constexpr std::size_t kMostKeptBytes = std::size_t{1} << 30U;

  // Distances of as many members as fit into `most_kept_bytes` are kept; those of the others are
  // measured in every step.
  static GreedyEnsemble measure(const FeatureStore& store, const Pool& pool,
                                const EpisodePlan& plan, Influence influence, unsigned threads,
                                const Progress& progress = {}, SpaceCache* spaces = nullptr,
                                std::size_t most_kept_bytes = kMostKeptBytes);

  // In the order in which they were first chosen, after the number of steps that was best. Their
  // weights make each count as often as it was chosen.
  [[nodiscard]] const Pool& members() const { return members_; }
  [[nodiscard]] const std::vector<std::size_t>& counts() const { return counts_; }
  [[nodiscard]] double val_accuracy() const { return val_accuracy_; }

 private:
  GreedyEnsemble() = default;
  Pool members_;
  std::vector<std::size_t> counts_;
  double val_accuracy_ = 0;
};

}  // namespace deepvoro
