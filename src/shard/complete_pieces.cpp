#include "shard/complete_pieces.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "deepvoro/core/error.hpp"
#include "deepvoro/shard/share.hpp"
#include "features/json_fields.hpp"
#include "shard/piece_folder.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Sorted, so that the same folders give the same complaints.
std::vector<fs::path> piece_files(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (is_piece_name(entry->path().filename().string())) files.push_back(entry->path());
  if (error)
    throw data_error(fmt::format("{}: cannot be read: {}", folder.string(), error.message()),
                     ErrorCode::missing_file);
  std::ranges::sort(files);
  return files;
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

}  // namespace

std::string command_of_pieces(std::span<const fs::path> folders) {
  for (const fs::path& folder : folders)
    for (const fs::path& file : piece_files(folder))
      return JsonFields(PieceFile(file).manifest().work, file.string()).text("command");
  refuse_no_pieces(folders);
}

CompletePieces::CompletePieces(std::span<const fs::path> folders, std::string_view command) {
  for (const fs::path& folder : folders)
    for (const fs::path& file : piece_files(folder)) add(file);
  if (files_.empty()) refuse_no_pieces(folders);
  const JsonFields work(work_, files_.begin()->second.string());
  if (work.text("command") != command) work.fail("command", fmt::format("is not {}", command));
  refuse_gaps();
}

void CompletePieces::add(const fs::path& file) {
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
  if (!is_new)
    throw data_error(fmt::format("{} and {} are both piece {}; remove one of them",
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
