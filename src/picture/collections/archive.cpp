#include <fmt/format.h>

#include <algorithm>

#include "core/archive.hpp"
#include "deepvoro/core/error.hpp"
#include "picture_source.hpp"

namespace deepvoro {
namespace {

// Pictures that are compressed are kept unpacked, so that any thread can read any of them.
constexpr std::size_t kMostUnpacked = std::size_t{4} << 30U;

// Parts of a path without "." ; a path that leaves the archive's own folder is refused.
std::vector<std::string> parts_of(const std::string& path, const std::string& where) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  bool leaves = path.starts_with('/');
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    std::string part = path.substr(begin, end - begin);
    leaves = leaves || part == "..";
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
    begin = end + 1;
  }
  if (leaves)
    throw data_error(fmt::format(
        "{}: has a member outside of its own folder, '{}'; make it again with relative paths",
        where, path));
  return parts;
}

// How many leading folders all have in common, not counting the last folder of any.
std::size_t common_folders(const std::vector<std::vector<std::string>>& paths) {
  std::size_t common = paths.front().size();
  for (const auto& parts : paths) {
    common = std::min(common, parts.size() - std::min<std::size_t>(parts.size(), 2));
    const auto differ = std::ranges::mismatch(parts, paths.front()).in1;
    common = std::min(common, static_cast<std::size_t>(differ - parts.begin()));
  }
  return common;
}

}  // namespace

PictureSource open_archive(const std::filesystem::path& file) {
  PictureSource source{.origin = file, .folder_per_class = true, .container = MappedFile(file)};
  const std::string where = file.string();
  const std::byte* begin = source.container->bytes().data();
  ArchiveReader archive(source.container->bytes(), where);

  std::vector<std::vector<std::string>> paths;
  std::vector<ClassifiedPicture> found;
  std::size_t memory_left = kMostUnpacked;
  while (const std::optional<std::string> path = archive.next()) {
    auto parts = parts_of(*path, where);
    const auto hidden = [](const std::string& part) { return part.starts_with('.'); };
    if (parts.empty() || !has_picture_name(parts.back()) || std::ranges::any_of(parts, hidden))
      continue;
    auto [in_place, unpacked] = archive.content(memory_left);
    memory_left -= unpacked.size();
    paths.push_back(std::move(parts));
    PicturePlace& place = found.emplace_back().picture;
    if (in_place.data() != nullptr)
      place.offset = static_cast<std::size_t>(in_place.data() - begin);
    place.size = in_place.size();
    if (!unpacked.empty())
      place.unpacked = std::make_shared<const std::vector<std::byte>>(std::move(unpacked));
  }
  if (found.empty()) throw data_error(fmt::format("{}: holds no pictures", where));
  const std::size_t common = common_folders(paths);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& parts = paths[i];
    if (parts.size() < common + 2)
      throw data_error(fmt::format("{}: '{}' is in no folder; there must be one for each class",
                                   where, parts.back()));
    found[i].class_name = parts[common];
    std::string& name = found[i].picture.file;
    for (std::size_t part = common + 1; part < parts.size(); ++part)
      name += (name.empty() ? "" : "/") + parts[part];
  }
  take_sorted(std::move(found), source);
  return source;
}

}  // namespace deepvoro
