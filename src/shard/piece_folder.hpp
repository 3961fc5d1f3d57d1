#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
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
[[nodiscard]] bool is_piece_name(const std::string& file_name);

}  // namespace deepvoro
