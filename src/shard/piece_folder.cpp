#include "shard/piece_folder.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPiecePrefix = "piece-";
constexpr std::string_view kUnfinished = ".part";  // of a file that was being written

}  // namespace

fs::path piece_path(const fs::path& folder, std::size_t number) {
  return folder / fmt::format("{}{:06}", kPiecePrefix, number);
}

bool is_piece_name(const std::string& file_name) {
  return file_name.starts_with(kPiecePrefix) && !file_name.ends_with(kUnfinished);
}

PieceRange part_of_share(const Share& share, std::size_t count) {
  return {count * share.index / share.count, count * (share.index + 1) / share.count};
}

PieceFolder::PieceFolder(fs::path folder, nlohmann::json work)
    : folder_(std::move(folder)), work_(std::move(work)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    throw data_error(fmt::format("{}: cannot be created: {}", folder_.string(), error.message()));
}

bool PieceFolder::has(std::size_t number) const {
  const fs::path file = piece_path(folder_, number);
  std::error_code unreadable;
  if (!fs::exists(file, unreadable)) return false;
  try {
    const PieceFile piece(file);
    const PieceManifest& manifest = piece.manifest();
    if (manifest.work != work_)
      throw data_error(
          fmt::format("{}: is a piece of other work ({}); finish that, or choose another `out`",
                      file.string(), difference_of_works(manifest.work, work_)));
    (void)piece.content();
    return manifest.number == number;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::damaged_file) return false;
    throw;
  }
}

std::vector<PieceRange> PieceFolder::missing(PieceRange range) const {
  std::vector<PieceRange> runs;
  for (std::size_t number = range.begin; number < range.end; ++number) {
    if (has(number)) continue;
    if (!runs.empty() && runs.back().end == number)
      ++runs.back().end;
    else
      runs.push_back({number, number + 1});
  }
  return runs;
}

PieceFile PieceFolder::open(std::size_t number) const {
  return PieceFile(piece_path(folder_, number));
}

void PieceFolder::write(std::size_t number, const nlohmann::json& facts,
                        std::span<const std::byte> content) const {
  write_piece(piece_path(folder_, number), {work_, number, facts}, content);
}

}  // namespace deepvoro
