#include "backbone/collections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "deepvoro/core/error.hpp"
#include "picture/collections/picture_source.hpp"

namespace deepvoro {

namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, 3> kSplits{"base", "val", "novel"};

bool holds_pictures(const fs::path& folder) {
  std::error_code unreadable;
  const fs::recursive_directory_iterator end;
  for (fs::recursive_directory_iterator at(folder, unreadable); at != end;
       at.increment(unreadable)) {
    if (is_passed_over(at->path().filename().string()))
      at.disable_recursion_pending();
    else if (has_picture_name(at->path()))
      return true;
  }
  return false;
}

// Lists of pictures have these beside them.
bool is_list(const fs::path& collection) {
  std::error_code unreadable;
  const fs::path ending = collection.extension();
  return !fs::is_directory(collection, unreadable) && ending != ".tar" && ending != ".gz" &&
         ending != ".tgz" && ending != ".zip";
}

}  // namespace

std::map<std::string, fs::path> split_collections(const fs::path& pictures) {
  constexpr std::array<const char*, 8> endings{"",        ".json", ".csv", ".tar",
                                               ".tar.gz", ".tgz",  ".zip", "-images-idx3-ubyte"};
  std::map<std::string, fs::path> found;
  std::error_code unreadable;
  if (!fs::is_directory(pictures, unreadable)) return found;
  for (const std::string split : kSplits)
    for (const char* ending : endings)
      if (const fs::path path = pictures / (split + ending); fs::exists(path, unreadable))
        found.try_emplace(split, path);
  return found;
}

void check_nothing_beside(const fs::path& pictures, const std::map<std::string, fs::path>& splits) {
  const auto of_list = [](const auto& split) { return is_list(split.second); };
  if (splits.empty() || splits.size() == kSplits.size() || std::ranges::any_of(splits, of_list))
    return;
  const FolderContents contents(pictures);
  std::vector<std::string> others = contents.pictures;
  for (const std::string& folder : contents.folders)
    if (!splits.contains(folder) && holds_pictures(pictures / folder)) others.push_back(folder);
  for (const auto* archives : {&contents.shards, &contents.compressed_shards})
    for (const std::string& archive : *archives)
      if (!splits.contains(archive.substr(0, archive.find('.')))) others.push_back(archive);
  if (others.empty()) return;
  std::vector<std::string> found;
  std::ranges::transform(splits, std::back_inserter(found),
                         [](const auto& split) { return split.second.filename().string(); });
  throw data_error(
      fmt::format("{}: holds both splits ({}) and pictures of none ({}); move one of "
                  "them away, or rename what is no split",
                  pictures.string(), some_of(found), some_of(others)));
}

PictureCollection open_collection(const fs::path& path, ClassFolders folders) {
  const FolderContents contents(path);
  const bool has_pictures_alone =
      !contents.pictures.empty() && contents.folders.empty() && contents.shards.empty();
  return has_pictures_alone ? PictureCollection::open_unlabelled(path)
                            : PictureCollection::open(path, folders);
}

}  // namespace deepvoro
