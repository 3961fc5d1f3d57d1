#include "shard/piece.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/json_text.hpp"
#include "core/sha256.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

constexpr const char* kPieceFormat = "deepvoro-piece";

// Names of files may be no UTF-8.
std::string one_line(const json& manifest) {
  return manifest.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

void write_piece(const std::filesystem::path& file, const PieceManifest& manifest,
                 std::span<const std::byte> content) {
  json line = {{"format", kPieceFormat},       {"version", 1},
               {"work", manifest.work},        {"piece", manifest.number},
               {"facts", manifest.facts},      {"bytes", content.size()},
               {"sha256", sha256_hex(content)}};
  line["manifest_sha256"] = sha256_hex(one_line(line));
  AtomicFile out(file);
  out.write(one_line(line) + "\n");
  out.write(content);
  out.commit(Durability::end_of_process);
}

PieceFile::PieceFile(const std::filesystem::path& file) : file_(file) {
  const std::span<const std::byte> bytes = file_.bytes();
  const auto end = std::ranges::find(bytes, std::byte{'\n'});
  if (end == bytes.end()) refuse_as_damaged();
  const auto length = static_cast<std::size_t>(end - bytes.begin());
  json line = parse_json({reinterpret_cast<const char*>(bytes.data()), length});
  if (!line.is_object() || line.value("format", json()) != kPieceFormat ||
      line.value("version", json()) != 1)
    refuse_as_damaged();
  const json sha256 = line.value("manifest_sha256", json());
  line.erase("manifest_sha256");
  content_ = bytes.subspan(length + 1);
  if (sha256 != sha256_hex(one_line(line)) || line.value("bytes", json()) != content_.size())
    refuse_as_damaged();
  try {
    manifest_ = {line.at("work"), line.at("piece").get<std::size_t>(), line.at("facts")};
    content_sha256_ = line.at("sha256").get<std::string>();
  } catch (const json::exception&) {
    refuse_as_damaged();
  }
}

std::span<const std::byte> PieceFile::content() const {
  if (sha256_hex(content_) != content_sha256_) refuse_as_damaged();
  return content_;
}

void PieceFile::refuse_as_damaged() const {
  throw data_error(fmt::format("{}: is not a piece, or is damaged; delete it and run its shard "
                               "again",
                               file_.path().string()),
                   ErrorCode::damaged_file);
}

}  // namespace deepvoro
