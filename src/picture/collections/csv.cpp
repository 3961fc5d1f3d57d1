#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "deepvoro/core/error.hpp"
#include "picture_source.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  bool next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return true;
  }
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

bool stays_below(const fs::path& path) {
  return path.is_relative() && std::ranges::count(path, fs::path("..")) == 0;
}

}  // namespace

PictureSource open_csv(const fs::path& file) {
  PictureSource source{.origin = file};
  const std::string where = file.string();
  const std::string text = read_text(file);
  Lines lines(text);
  std::string_view line;
  lines.next(line);  // "filename,label", by which the file was recognised

  std::map<std::string, std::size_t, std::less<>> label_of;
  bool any_there = false;
  while (lines.next(line)) {
    if (line.empty()) continue;
    const std::size_t comma = line.find(',');
    if (comma == 0 || comma == std::string_view::npos || comma + 1 == line.size() ||
        line.find(',', comma + 1) != std::string_view::npos ||
        line.find('"') != std::string_view::npos)
      throw data_error(
          fmt::format("{}: line {} is not a file name, a comma and a label, without "
                      "quotation marks",
                      where, lines.number()));
    const std::string name(line.substr(0, comma));
    if (!stays_below(name))
      throw data_error(fmt::format("{}: line {}: the file name must be relative and without ..",
                                   where, lines.number()));
    const std::string class_name(line.substr(comma + 1));
    const auto [found, is_new] = label_of.try_emplace(class_name, source.classes.size());
    if (is_new) source.classes.push_back(class_name);
    const fs::path in_images = file.parent_path() / "images" / name;
    std::error_code ignored;
    const bool is_in_images = fs::exists(in_images, ignored);
    const fs::path path = is_in_images ? in_images : file.parent_path() / name;
    any_there = any_there || is_in_images || fs::exists(path, ignored);
    source.pictures.push_back({.label = found->second, .file = name, .path = path});
  }
  if (!any_there && !source.pictures.empty())
    throw data_error(
        fmt::format("{}: none of its pictures is there; put them next to it or into {}", where,
                    (file.parent_path() / "images").string()));
  return source;
}

}  // namespace deepvoro
