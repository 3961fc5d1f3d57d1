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
  refuse_other_work();
}

// One is enough: none was written without this.
void PieceFolder::refuse_other_work() const {
  std::string first;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (is_piece_name(name) && (first.empty() || name < first)) first = name;
  }
  if (first.empty()) return;
  try {
    check_work(PieceFile(folder_ / first));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::damaged_file) throw;
  }
}

void PieceFolder::check_work(const PieceFile& piece) const {
  if (piece.manifest().work != work_)
    throw data_error(fmt::format("{}: is a piece of other work ({}); choose another `out`",
                                 piece.where(), difference_of_works(piece.manifest().work, work_)));
}

bool PieceFolder::has(std::size_t number) const {
  const fs::path file = piece_path(folder_, number);
  std::error_code unreadable;
  if (!fs::exists(file, unreadable)) return false;
  try {
    const PieceFile piece(file);
    check_work(piece);
    (void)piece.content();
    return piece.manifest().number == number;
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
