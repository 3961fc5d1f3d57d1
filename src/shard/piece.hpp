#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "core/files.hpp"

namespace deepvoro {

// A piece of some work, in one file: a line of JSON, which says what it is of, then its content.
// The file appears whole or not at all, so there is no piece without its manifest; after a loss of
// power one may be damaged, which its hashes tell.
struct PieceManifest {
  // All that the pieces of the work depend on, the same for each.
  nlohmann::json work = nlohmann::json::object();
  std::size_t number = 0;  // from 0, below the number of pieces
  // Of this piece alone.
  nlohmann::json facts = nlohmann::json::object();
};

void write_piece(const std::filesystem::path& file, const PieceManifest& manifest,
                 std::span<const std::byte> content);

class PieceFile {
 public:
  // Reads the manifest; what is not a piece, or damaged, is a data error of code damaged_file.
  explicit PieceFile(const std::filesystem::path& file);

  [[nodiscard]] const PieceManifest& manifest() const { return manifest_; }
  // Checked against its hash, or the same error. Lives as long as this.
  [[nodiscard]] std::span<const std::byte> content() const;
  [[nodiscard]] std::string where() const { return file_.path().string(); }
  [[noreturn]] void refuse_as_damaged() const;

 private:
  MappedFile file_;
  PieceManifest manifest_;
  std::string content_sha256_;
  std::span<const std::byte> content_;
};

}  // namespace deepvoro
