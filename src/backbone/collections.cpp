#include "backbone/collections.hpp"

#include <array>

#include "picture/collections/picture_source.hpp"

namespace deepvoro {

namespace fs = std::filesystem;

std::map<std::string, fs::path> split_collections(const fs::path& pictures) {
  constexpr std::array<const char*, 3> splits{"base", "val", "novel"};
  constexpr std::array<const char*, 8> endings{"",        ".json", ".csv", ".tar",
                                               ".tar.gz", ".tgz",  ".zip", "-images-idx3-ubyte"};
  std::map<std::string, fs::path> found;
  std::error_code unreadable;
  if (!fs::is_directory(pictures, unreadable)) return found;
  for (const std::string split : splits)
    for (const char* ending : endings)
      if (const fs::path path = pictures / (split + ending); fs::exists(path, unreadable))
        found.try_emplace(split, path);
  return found;
}

PictureCollection open_collection(const fs::path& path, ClassFolders folders) {
  std::error_code unreadable;
  bool has_pictures = false;
  bool has_folders = false;
  for (const auto& entry : fs::directory_iterator(path, unreadable)) {
    if (is_passed_over(entry.path().filename().string())) continue;
    has_folders = has_folders || entry.is_directory(unreadable);
    has_pictures = has_pictures || has_picture_name(entry.path());
  }
  return has_pictures && !has_folders ? PictureCollection::open_unlabelled(path)
                                      : PictureCollection::open(path, folders);
}

}  // namespace deepvoro
