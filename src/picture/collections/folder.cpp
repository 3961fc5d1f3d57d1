#include <fmt/format.h>

#include <algorithm>

#include "deepvoro/core/error.hpp"
#include "picture_source.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

std::vector<ClassifiedPicture> pictures_of_class(const fs::path& folder) {
  std::vector<ClassifiedPicture> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    // A link that leads nowhere is kept: it is reported when it is read.
    if (!has_picture_name(entry.path()) || entry.is_directory()) continue;
    PicturePlace picture{.file = entry.path().lexically_relative(folder).generic_string(),
                         .path = entry.path()};
    found.push_back({folder.filename().string(), std::move(picture)});
  }
  if (found.empty())
    throw data_error(fmt::format("{}: holds no pictures; remove the folder or put some into it",
                                 folder.string()));
  return found;
}

// A link to a folder above would make one class of all of them.
void check_does_not_hold(const fs::directory_entry& of_class, const fs::path& folder) {
  if (!of_class.is_symlink()) return;
  const fs::path target = fs::canonical(of_class.path());
  const fs::path inside = fs::canonical(folder);
  if (std::ranges::mismatch(target, inside).in1 == target.end())
    throw data_error(fmt::format("{}: is a link to a folder that holds it; remove the link",
                                 of_class.path().string()));
}

}  // namespace

PictureSource open_folder(const fs::path& folder) {
  PictureSource source{.origin = folder, .folder_per_class = true};
  std::vector<ClassifiedPicture> found;
  try {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().filename().string().starts_with('.')) continue;
      if (!entry.is_directory()) {
        if (has_picture_name(entry.path()))
          source.loose.push_back(entry.path().filename().string());
        continue;
      }
      check_does_not_hold(entry, folder);
      for (auto& one : pictures_of_class(entry.path())) found.push_back(std::move(one));
    }
  } catch (const fs::filesystem_error& error) {
    throw data_error(
        fmt::format("{}: cannot be read: {}", error.path1().string(), error.code().message()));
  }
  if (found.empty())
    throw data_error(
        fmt::format("{}: has no folders with pictures in it; there must be one for each class",
                    folder.string()));
  take_sorted(std::move(found), source);
  std::ranges::sort(source.loose);
  return source;
}

}  // namespace deepvoro
