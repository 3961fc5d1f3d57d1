#include "shard/complete_pieces.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "core/files.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/shard/share.hpp"
#include "features/json_fields.hpp"
#include "shard/difference_of_works.hpp"
#include "shard/piece_folder.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Pieces that are looked at twice would all be there twice.
void refuse_folders_named_twice(std::span<const fs::path> folders) {
  std::error_code error;
  for (std::size_t i = 0; i < folders.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (folders[i].lexically_normal() / "" == folders[j].lexically_normal() / "")
        throw usage_error(fmt::format("{} is named twice; name it once", folders[j].string()));
      if (fs::equivalent(folders[i], folders[j], error))
        throw usage_error(fmt::format("{} and {} are the same folder; name it once",
                                      folders[j].string(), folders[i].string()));
    }
}

bool are_same_bytes(const fs::path& one, const fs::path& other) {
  return std::ranges::equal(MappedFile(one).bytes(), MappedFile(other).bytes());
}

std::size_t pieces_of(const json& work, const fs::path& file) {
  constexpr std::size_t most_pieces = 100'000'000;
  const json pieces = work.is_object() ? work.value("pieces", json()) : json();
  if (!pieces.is_number_unsigned() || pieces < 1 || pieces > most_pieces)
    throw data_error(fmt::format("{}: does not say how many pieces there are", file.string()),
                     ErrorCode::damaged_file);
  return pieces;
}

// "3, 7-9"
std::string ranges_text(const std::vector<PieceRange>& ranges) {
  constexpr std::size_t shown = 8;
  std::vector<std::string> parts;
  for (const PieceRange& range : ranges) {
    if (parts.size() == shown) {
      parts.emplace_back("...");
      break;
    }
    parts.push_back(range.size() == 1 ? fmt::to_string(range.begin)
                                      : fmt::format("{}-{}", range.begin, range.end - 1));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

[[noreturn]] void refuse_no_pieces(std::span<const fs::path> folders) {
  throw data_error(fmt::format("{}: holds no pieces; make them with `shard`",
                               folders.empty() ? "" : folders.front().string()));
}

bool lies_inside(const fs::path& folder, const fs::path& output) {
  std::error_code error;
  const fs::path outer = fs::weakly_canonical(folder, error) / "";
  const fs::path inner = fs::weakly_canonical(output, error) / "";
  const auto outer_names = std::prev(outer.end());  // less the empty one behind the last slash
  return std::mismatch(outer.begin(), outer_names, inner.begin(), inner.end()).first == outer_names;
}

}  // namespace

void refuse_output_among_pieces(const std::string& flag, const fs::path& output,
                                std::span<const fs::path> folders) {
  std::vector<fs::path> places(folders.begin(), folders.end());
  for (const fs::path& place : {output, fs::absolute(output).parent_path()})
    if (holds_pieces(place)) places.push_back(place);
  for (const fs::path& place : places)
    if (lies_inside(place, output)) {
      const bool is_it = lies_inside(output, place);
      throw usage_error(fmt::format("{} {}: {} a folder of pieces; write it elsewhere", flag,
                                    output.string(),
                                    is_it ? "is" : fmt::format("lies in {},", place.string())));
    }
}

std::string command_of_pieces(std::span<const fs::path> folders) {
  for (const fs::path& folder : folders)
    for (const fs::path& file : piece_files(folder))
      return JsonFields(PieceFile(file).manifest().work, file.string()).text("command");
  refuse_no_pieces(folders);
}

CompletePieces::CompletePieces(std::span<const fs::path> folders, std::string_view command) {
  refuse_folders_named_twice(folders);
  for (const fs::path& folder : folders)
    for (const fs::path& file : piece_files(folder)) add(file);
  if (files_.empty()) refuse_no_pieces(folders);
  const JsonFields work(work_, files_.begin()->second.string());
  if (work.text("command") != command) work.fail("command", fmt::format("is not {}", command));
  refuse_gaps();
}

void CompletePieces::add(const fs::path& file) {
  if (!files_.empty() && number_in_name(file) >= count_)
    throw data_error(
        fmt::format("{}: is behind the last of {} pieces; remove it", file.string(), count_));
  const PieceFile piece(file);
  const auto& [work, number, facts] = piece.manifest();
  if (files_.empty()) {
    count_ = pieces_of(work, file);
    work_ = work;
  }
  if (work != work_)
    throw data_error(
        fmt::format("{}: is a piece of other work than the first ({}); remove the pieces of one of "
                    "the two",
                    file.string(), difference_of_works(work, work_)));
  if (number >= count_) piece.refuse_as_damaged();
  const auto [earlier, is_new] = files_.try_emplace(number, file);
  if (!is_new && !are_same_bytes(earlier->second, file))
    throw data_error(fmt::format("{} and {} are both piece {}, and differ; remove one of them",
                                 earlier->second.string(), file.string(), number));
}

void CompletePieces::refuse_gaps() const {
  std::vector<PieceRange> gaps;
  std::size_t next = 0;
  for (const auto& [number, file] : files_) {
    if (number > next) gaps.push_back({next, number});
    next = number + 1;
  }
  if (next < count_) gaps.push_back({next, count_});
  if (gaps.empty()) return;
  throw data_error(
      fmt::format("{}: {} of {} pieces are missing: {}; run the shards again, which make what is "
                  "missing",
                  files_.begin()->second.parent_path().string(), count_ - files_.size(), count_,
                  ranges_text(gaps)));
}

}  // namespace deepvoro
