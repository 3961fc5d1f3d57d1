#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "shard/piece_folder.hpp"

namespace deepvoro {

// How the pictures of one split are numbered as pieces: for each block of them a piece that lists
// them, then one for each view. A block has whole batches, because features depend on the batch by
// rounding.
class SplitPieces {
 public:
  SplitPieces(std::string split, std::size_t first_piece, std::size_t rows, std::size_t views,
              std::size_t batch)
      : split_(std::move(split)),
        first_piece_(first_piece),
        rows_(rows),
        views_(views),
        rows_per_block_(batch * batches_per_block(divided_up(rows, batch), views)) {}

  [[nodiscard]] const std::string& split() const { return split_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t blocks() const { return divided_up(rows_, rows_per_block_); }
  [[nodiscard]] PieceRange rows_of(std::size_t block) const {
    return {block * rows_per_block_, std::min(rows_, (block + 1) * rows_per_block_)};
  }
  [[nodiscard]] std::size_t end_piece() const { return list_piece(blocks()); }
  [[nodiscard]] std::size_t list_piece(std::size_t block) const {
    return first_piece_ + block * (1 + views_);
  }
  [[nodiscard]] std::size_t view_piece(std::size_t block, std::size_t view) const {
    return list_piece(block) + 1 + view;
  }
  [[nodiscard]] std::size_t block_of(std::size_t piece) const {
    return (piece - first_piece_) / (1 + views_);
  }
  // None: the list.
  [[nodiscard]] std::optional<std::size_t> view_of(std::size_t piece) const {
    const std::size_t place = (piece - first_piece_) % (1 + views_);
    return place == 0 ? std::nullopt : std::optional(place - 1);
  }

 private:
  [[nodiscard]] static std::size_t divided_up(std::size_t value, std::size_t by) {
    return value / by + (value % by == 0 ? 0 : 1);
  }
  // So few that there is work for many workers; so many, else, that starting a piece costs little
  // and that there are not too many files.
  [[nodiscard]] static std::size_t batches_per_block(std::size_t batches, std::size_t views) {
    constexpr std::size_t enough_pieces = 120;
    constexpr std::size_t enough_batches = 64;
    constexpr std::size_t most_pieces = 100'000;
    const std::size_t all = batches * views;
    return std::max(std::clamp(all / enough_pieces, std::size_t{1}, enough_batches),
                    divided_up(all, most_pieces));
  }

  std::string split_;
  std::size_t first_piece_;
  std::size_t rows_;
  std::size_t views_;
  std::size_t rows_per_block_;
};

}  // namespace deepvoro
