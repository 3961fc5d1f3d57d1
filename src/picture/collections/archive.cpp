#include <fmt/format.h>

#include <algorithm>

#include "core/archive.hpp"
#include "core/trusted_files.hpp"
#include "deepvoro/core/error.hpp"
#include "picture_source.hpp"
#include "sample_classes.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

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

// From a part of the path on.
std::string joined(const std::vector<std::string>& path, std::size_t from) {
  std::string name;
  for (std::size_t part = from; part < path.size(); ++part)
    name += (name.empty() ? "" : "/") + path[part];
  return name;
}

struct ArchivedPicture {
  std::vector<std::string> path;  // its parts
  PicturePlace place;
};

struct ArchivedPictures {
  std::vector<ArchivedPicture> pictures;
  SampleClasses classes;
};

// All pictures of the archives that are the containers of a source, in which they stay where that
// is possible.
class ArchivesReader {
 public:
  explicit ArchivesReader(const PictureSource& source) : source_(source) {}

  ArchivedPictures read() {
    for (std::size_t i = 0; i < source_.containers.size(); ++i) read(i);
    if (found_.pictures.empty())
      throw data_error(fmt::format("{}: holds no pictures", source_.origin.string()));
    return std::move(found_);
  }

 private:
  void read(std::size_t container) {
    const MappedFile& file = source_.containers[container];
    const std::string where = file.path().string();
    ArchiveReader archive(file.bytes(), where);
    while (const std::optional<std::string> path = archive.next()) {
      auto parts = parts_of(*path, where);
      if (parts.empty() || std::ranges::any_of(parts, is_passed_over)) continue;
      if (SampleClasses::may_tell(parts.back())) {
        if (archive.size().value_or(SampleClasses::kLargest + 1) > SampleClasses::kLargest)
          continue;
        const auto [in_place, unpacked] = archive.content(SampleClasses::kLargest);
        found_.classes.add(joined(parts, 0), unpacked.empty() ? in_place : std::span(unpacked),
                           where);
      } else if (has_picture_name(parts.back())) {
        PicturePlace place = place_of(archive, file);
        place.container = container;
        found_.pictures.push_back({std::move(parts), std::move(place)});
      }
    }
  }

  PicturePlace place_of(ArchiveReader& archive, const MappedFile& file) {
    auto [in_place, unpacked] = archive.content(memory_left_);
    memory_left_ -= unpacked.size();
    unpacked_from_this(file);
    check_growth(kMostUnpacked - memory_left_, packed_, file.path().string());
    PicturePlace place;
    if (in_place.data() != nullptr)
      place.offset = static_cast<std::size_t>(in_place.data() - file.bytes().data());
    place.size = in_place.size();
    if (!unpacked.empty())
      place.unpacked = std::make_shared<const std::vector<std::byte>>(std::move(unpacked));
    return place;
  }

  void unpacked_from_this(const MappedFile& file) {
    if (last_ == &file) return;
    last_ = &file;
    packed_ += file.bytes().size();
  }

  const PictureSource& source_;
  ArchivedPictures found_;
  std::size_t memory_left_ = kMostUnpacked;
  std::size_t packed_ = 0;  // bytes of the archives read so far
  const MappedFile* last_ = nullptr;
};

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

std::vector<ClassifiedPicture> by_folders(const PictureSource& source,
                                          std::vector<ArchivedPicture>&& all) {
  const std::size_t common = common_folders(all);
  std::vector<ClassifiedPicture> found;
  for (auto& [path, place] : all) {
    if (path.size() < common + 2)
      throw data_error(fmt::format("{}: '{}' is in no folder; there must be one for each class",
                                   source.containers[place.container].path().string(),
                                   path.back()));
    place.file = joined(path, common + 1);
    found.push_back({path[common], std::move(place)});
  }
  return found;
}

std::vector<ClassifiedPicture> by_samples(const PictureSource& source, ArchivedPictures&& all) {
  std::vector<ClassifiedPicture> found;
  for (auto& [path, place] : all.pictures) {
    place.file = joined(path, 0);
    const std::optional<std::string> name = all.classes.of(place.file);
    if (!name)
      throw data_error(
          fmt::format("{}: '{}' has no class; there must be a .cls file of the same name, or a "
                      ".json file with \"class\" or \"label\", as others have",
                      source.containers[place.container].path().string(), place.file));
    found.push_back({*name, std::move(place)});
  }
  return found;
}

void take_classified(PictureSource& source) {
  ArchivedPictures all = ArchivesReader(source).read();
  source.folder_per_class = std::ranges::none_of(all.pictures, [&](const ArchivedPicture& one) {
    return all.classes.of(joined(one.path, 0)).has_value();
  });
  take_sorted(source.folder_per_class ? by_folders(source, std::move(all.pictures))
                                      : by_samples(source, std::move(all)),
              source);
}

PictureSource with_shards(const FolderContents& contents) {
  PictureSource source{.origin = contents.folder};
  for (const std::string& shard : contents.shards)
    source.containers.emplace_back(contents.folder / shard);
  return source;
}

// All pictures of the containers as one class.
PictureSource unlabelled(PictureSource source) {
  std::vector<ClassifiedPicture> found;
  for (auto& [path, place] : ArchivesReader(source).read().pictures) {
    place.file = joined(path, 0);
    found.push_back({kUnlabelled, std::move(place)});
  }
  take_sorted(std::move(found), source);
  return source;
}

}  // namespace

PictureSource open_archive(const fs::path& file) {
  PictureSource source{.origin = file};
  source.containers.emplace_back(file);
  take_classified(source);
  return source;
}

void check_holds_shards_alone(const FolderContents& contents) {
  const auto check_has_none = [&](const char* what, const std::vector<std::string>& others) {
    if (!others.empty())
      throw data_error(
          fmt::format("{}: holds both tar shards ({}) and {} ({}); move one of them "
                      "away",
                      contents.folder.string(), some_of(contents.shards), what, some_of(others)));
  };
  check_has_none("folders", contents.folders);
  check_has_none("pictures", contents.pictures);
  check_has_none("compressed ones", contents.compressed_shards);
}

PictureSource open_tar_shards(const FolderContents& contents) {
  PictureSource source = with_shards(contents);
  take_classified(source);
  return source;
}

PictureSource open_unlabelled_shards(const FolderContents& contents) {
  return unlabelled(with_shards(contents));
}

PictureSource open_unlabelled_archive(const fs::path& file) {
  PictureSource source{.origin = file};
  source.containers.emplace_back(file);
  return unlabelled(std::move(source));
}

}  // namespace deepvoro
