#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "deepvoro/shard/piece_dealer.hpp"
#include "shard/piece.hpp"

namespace deepvoro {

// What a share has of `count` things, which follow each other; all shares together have each once.
[[nodiscard]] PieceRange part_of_share(const Share& share, std::size_t count);

// Where workers leave the pieces of one work. How many there are is decided by the work alone, so
// that any number of workers, one after the other or at once, make the same files.
class PieceFolder {
 public:
  // `work`: all that its pieces depend on. The folder is made; one that holds a piece of other work
  // is a data error.
  PieceFolder(std::filesystem::path folder, nlohmann::json work);

  // Whether a piece is there and whole. A damaged one is not; one of other work is a data error.
  [[nodiscard]] bool has(std::size_t number) const;
  // Those among `range` that are not there, as far as they follow each other.
  [[nodiscard]] std::vector<PieceRange> missing(PieceRange range) const;
  // One that is there.
  [[nodiscard]] PieceFile open(std::size_t number) const;
  void write(std::size_t number, const nlohmann::json& facts,
             std::span<const std::byte> content) const;

 private:
  void refuse_other_work() const;
  void check_work(const PieceFile& piece) const;

  std::filesystem::path folder_;
  nlohmann::json work_;
};

// The file of a piece, beside the others.
[[nodiscard]] std::filesystem::path piece_path(const std::filesystem::path& folder,
                                               std::size_t number);
// None for a file that is not named like a piece; it is no business of those who look for pieces.
[[nodiscard]] std::optional<std::size_t> number_in_name(const std::filesystem::path& file);
// Those named like pieces, sorted, so that the same folder gives the same complaints.
[[nodiscard]] std::vector<std::filesystem::path> piece_files(const std::filesystem::path& folder);
// Not for what is no folder, or cannot be read.
[[nodiscard]] bool holds_pieces(const std::filesystem::path& folder);

}  // namespace deepvoro
