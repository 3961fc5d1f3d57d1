#include "shard/piece_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/files.hpp"
#include "deepvoro/core/error.hpp"
#include "shard/difference_of_works.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPiecePrefix = "piece-";
constexpr std::size_t kDigits = 6;  // at least

}  // namespace

fs::path piece_path(const fs::path& folder, std::size_t number) {
  return folder / fmt::format("{}{:0{}}", kPiecePrefix, number, kDigits);
}

std::optional<std::size_t> number_in_name(const fs::path& file) {
  const std::string name = file.filename().string();
  if (!name.starts_with(kPiecePrefix)) return {};
  const std::string_view digits = std::string_view(name).substr(kPiecePrefix.size());
  std::size_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, number);
  if (digits.size() < kDigits || parsed.ptr != end || parsed.ec != std::errc()) return {};
  return number;
}

std::vector<fs::path> piece_files(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (number_in_name(entry->path())) files.push_back(entry->path());
  if (error == std::errc::not_a_directory)
    throw data_error(
        fmt::format("{}: is a file; name the folder that holds the pieces", folder.string()));
  if (error)
    throw data_error(fmt::format("{}: cannot be read: {}", folder.string(), error.message()),
                     ErrorCode::missing_file);
  std::ranges::sort(files);
  return files;
}

bool holds_pieces(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (number_in_name(entry->path())) return true;
  return false;
}

PieceRange part_of_share(const Share& share, std::size_t count) {
  return {count * share.index / share.count, count * (share.index + 1) / share.count};
}

PieceFolder::PieceFolder(fs::path folder, nlohmann::json work)
    : folder_(std::move(folder)), work_(std::move(work)) {
  if (folder_.empty()) throw usage_error("`out` '': name a folder for the pieces");
  std::error_code error;
  if (fs::is_regular_file(folder_, error))
    throw usage_error(fmt::format("{}: is a file; `out` must be a folder", folder_.string()));
  fs::create_directories(folder_, error);
  if (error)
    throw data_error(fmt::format("{}: cannot be created: {}{}", folder_.string(), error.message(),
                                 writing_advice(error.value())));
  refuse_other_work();
}

// One that can be read is enough: none was written without this.
void PieceFolder::refuse_other_work() const {
  for (const fs::path& file : piece_files(folder_)) try {
      return check_work(PieceFile(file));
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
