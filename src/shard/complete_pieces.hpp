#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "shard/piece.hpp"

namespace deepvoro {

// All pieces of one work, from the folders that hold them. A gap, a piece that is there twice and
// pieces of different works are data errors that name them. Keeps the names of files, not what is
// in them.
class CompletePieces {
 public:
  // Pieces of another command are other work.
  CompletePieces(std::span<const std::filesystem::path> folders, std::string_view command);

  [[nodiscard]] const nlohmann::json& work() const { return work_; }
  [[nodiscard]] std::size_t size() const { return files_.size(); }
  [[nodiscard]] const std::filesystem::path& file(std::size_t number) const {
    return files_.at(number);
  }
  [[nodiscard]] PieceFile open(std::size_t number) const { return PieceFile(file(number)); }

 private:
  void add(const std::filesystem::path& file);
  void refuse_gaps() const;

  nlohmann::json work_;
  std::size_t count_ = 0;  // which a file says, so room is only made for those that are there
  std::map<std::size_t, std::filesystem::path> files_;  // by number
};

}  // namespace deepvoro
