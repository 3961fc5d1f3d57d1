#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "shard/piece.hpp"

namespace deepvoro {

// All pieces of one work, from the folders that hold them. A gap, a piece that is there twice and
// pieces of different works are data errors that name them. Keeps the names of files, not what is
// in them.
class CompletePieces {
 public:
  explicit CompletePieces(std::span<const std::filesystem::path> folders);

  [[nodiscard]] const nlohmann::json& work() const { return work_; }
  [[nodiscard]] std::size_t size() const { return files_.size(); }
  [[nodiscard]] const std::filesystem::path& file(std::size_t number) const {
    return files_[number];
  }
  [[nodiscard]] PieceFile open(std::size_t number) const { return PieceFile(files_[number]); }

 private:
  void add(const std::filesystem::path& file);
  void refuse_gaps() const;

  nlohmann::json work_;
  std::vector<std::filesystem::path> files_;  // by number; empty: missing
};

}  // namespace deepvoro
