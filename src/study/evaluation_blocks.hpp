#pragma once

#include <algorithm>
#include <cstddef>

#include "shard/piece_folder.hpp"

namespace deepvoro {

// How the episodes of evaluations are numbered as pieces: blocks of one evaluation after the other.
// So many that a worker more or less hardly shows, and few enough that files stay few.
class EvaluationBlocks {
 public:
  EvaluationBlocks(std::size_t first_piece, std::size_t episodes)
      : first_piece_(first_piece), episodes_(episodes) {}

  [[nodiscard]] std::size_t count() const { return std::min(episodes_, kMostBlocks); }
  [[nodiscard]] std::size_t end_piece() const { return first_piece_ + count(); }
  [[nodiscard]] bool is_first(std::size_t piece) const { return piece == first_piece_; }
  [[nodiscard]] PieceRange pieces() const { return {first_piece_, end_piece()}; }
  // The episodes of some pieces.
  [[nodiscard]] PieceRange episodes_of(PieceRange pieces) const {
    return {part_of_share({pieces.begin - first_piece_, count()}, episodes_).begin,
            part_of_share({pieces.end - 1 - first_piece_, count()}, episodes_).end};
  }

 private:
  static constexpr std::size_t kMostBlocks = 120;
  std::size_t first_piece_;
  std::size_t episodes_;
};

}  // namespace deepvoro
