#include <fmt/format.h>

#include <algorithm>

#include "core/archive.hpp"
#include "core/trusted_files.hpp"
#include "deepvoro/core/error.hpp"
#include "picture_source.hpp"

namespace deepvoro {
namespace {

// Pictures that are compressed are kept unpacked, so that any thread can read any of them.
constexpr std::size_t kMostUnpacked = std::size_t{4} << 30U;

void check_growth(std::size_t unpacked, std::size_t packed, const std::string& where) {
  if (!TrustInAllFiles::is_given() && !is_usual_unpacked_size(unpacked, packed))
    throw data_error(
        fmt::format("{}: {} bytes unpack into more than {}, which is much for pictures; {}", where,
                    packed, unpacked, kHowToTrust));
}

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

struct ArchivedPicture {
  std::vector<std::string> path;  // its parts
  PicturePlace place;
};

// All pictures of the archive that is the container of `source`.
std::vector<ArchivedPicture> pictures_in(const PictureSource& source) {
  const std::string where = source.origin.string();
  const std::byte* begin = source.container->bytes().data();
  ArchiveReader archive(source.container->bytes(), where);
  std::vector<ArchivedPicture> found;
  std::size_t memory_left = kMostUnpacked;
  while (const std::optional<std::string> path = archive.next()) {
    auto parts = parts_of(*path, where);
    if (parts.empty() || !has_picture_name(parts.back()) ||
        std::ranges::any_of(parts, is_passed_over))
      continue;
    auto [in_place, unpacked] = archive.content(memory_left);
    memory_left -= unpacked.size();
    check_growth(kMostUnpacked - memory_left, source.container->bytes().size(), where);
    PicturePlace place;
    if (in_place.data() != nullptr)
      place.offset = static_cast<std::size_t>(in_place.data() - begin);
    place.size = in_place.size();
    if (!unpacked.empty())
      place.unpacked = std::make_shared<const std::vector<std::byte>>(std::move(unpacked));
    found.push_back({std::move(parts), std::move(place)});
  }
  if (found.empty()) throw data_error(fmt::format("{}: holds no pictures", where));
  return found;
}

// How many leading folders all have in common, not counting the last folder of any.
std::size_t common_folders(const std::vector<ArchivedPicture>& pictures) {
  const std::vector<std::string>& first = pictures.front().path;
  std::size_t common = first.size();
  for (const ArchivedPicture& picture : pictures) {
    const auto& parts = picture.path;
    common = std::min(common, parts.size() - std::min<std::size_t>(parts.size(), 2));
    const auto differ = std::ranges::mismatch(parts, first).in1;
    common = std::min(common, static_cast<std::size_t>(differ - parts.begin()));
  }
  return common;
}

// From a part of the path on.
std::string joined(const std::vector<std::string>& path, std::size_t from) {
  std::string name;
  for (std::size_t part = from; part < path.size(); ++part)
    name += (name.empty() ? "" : "/") + path[part];
  return name;
}

}  // namespace

PictureSource open_archive(const std::filesystem::path& file) {
  PictureSource source{.origin = file, .folder_per_class = true, .container = MappedFile(file)};
  std::vector<ArchivedPicture> all = pictures_in(source);
  const std::size_t common = common_folders(all);
  std::vector<ClassifiedPicture> found;
  for (auto& [path, place] : all) {
    if (path.size() < common + 2)
      throw data_error(fmt::format("{}: '{}' is in no folder; there must be one for each class",
                                   file.string(), path.back()));
    place.file = joined(path, common + 1);
    found.push_back({path[common], std::move(place)});
  }
  take_sorted(std::move(found), source);
  return source;
}

PictureSource open_unlabelled_archive(const std::filesystem::path& file) {
  PictureSource source{.origin = file, .folder_per_class = false, .container = MappedFile(file)};
  std::vector<ClassifiedPicture> found;
  for (auto& [path, place] : pictures_in(source)) {
    place.file = joined(path, 0);
    found.push_back({kUnlabelled, std::move(place)});
  }
  take_sorted(std::move(found), source);
  return source;
}

}  // namespace deepvoro
