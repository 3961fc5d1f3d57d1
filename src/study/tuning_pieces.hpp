#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <vector>

#include "shard/piece.hpp"
#include "shard/piece_folder.hpp"
#include "study/tuner.hpp"

namespace deepvoro {

// How the steps of a tuning are numbered as pieces: stage by stage, step by step, as blocks of
// episodes, more of them where there are few views.
class TuningPieces {
 public:
  explicit TuningPieces(const Tuning& request)
      : steps_(steps_of_stages(request)),
        episodes_(request.plan.count),
        blocks_(std::clamp(kEnoughPieces / request.views.size(), std::size_t{1}, episodes_)) {}

  [[nodiscard]] std::size_t stages() const { return steps_.size(); }
  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  [[nodiscard]] std::size_t count() const { return pieces_of_stage(stages() - 1).end; }
  [[nodiscard]] PieceRange pieces_of_stage(std::size_t stage) const {
    const auto first = steps_.begin();
    const std::size_t before =
        std::accumulate(first, first + static_cast<std::ptrdiff_t>(stage), std::size_t{0});
    return {before * blocks_, (before + steps_[stage]) * blocks_};
  }
  [[nodiscard]] std::size_t step_of(std::size_t stage, std::size_t piece) const {
    return (piece - pieces_of_stage(stage).begin) / blocks_;
  }
  [[nodiscard]] PieceRange episodes_of(std::size_t piece) const {
    return part_of_share({piece % blocks_, blocks_}, episodes_);
  }

 private:
  static constexpr std::size_t kEnoughPieces = 120;
  std::vector<std::size_t> steps_;  // of the stages
  std::size_t episodes_;
  std::size_t blocks_;  // of a step
};

// What all that a tuning's pieces depend on is called in their manifests.
inline constexpr const char* kTuningKey = "tuning";

[[nodiscard]] std::span<const std::byte> bytes_of_counts(const Counts& counts);

// Adds up what the pieces of one stage say.
[[nodiscard]] std::vector<Counts> counts_of_stage(
    const TuningPieces& pieces, std::size_t number, const std::vector<TuningStep>& stage,
    const EpisodeShape& shape, const std::function<PieceFile(std::size_t piece)>& open);

}  // namespace deepvoro
