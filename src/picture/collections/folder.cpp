#include <fmt/format.h>

#include <algorithm>

#include "deepvoro/core/error.hpp"
#include "picture_source.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

std::vector<ClassifiedPicture> pictures_below(const fs::path& folder,
                                              const std::string& class_name) {
  std::vector<ClassifiedPicture> found;
  const fs::recursive_directory_iterator end;
  for (fs::recursive_directory_iterator at(folder); at != end; ++at) {
    const fs::path& path = at->path();
    if (is_passed_over(path.filename().string())) {
      at.disable_recursion_pending();
      continue;
    }
    // A link that leads nowhere is kept: it is reported when it is read.
    if (!has_picture_name(path) || at->is_directory()) continue;
    found.push_back(
        {class_name, {.file = path.lexically_relative(folder).generic_string(), .path = path}});
  }
  return found;
}

// As deepvoro serve keeps a class that is not taught yet.
bool is_empty_folder(const fs::path& folder) {
  return std::ranges::all_of(fs::directory_iterator(folder), [](const fs::directory_entry& entry) {
    return is_passed_over(entry.path().filename().string());
  });
}

std::vector<ClassifiedPicture> pictures_of_class(const fs::path& folder) {
  std::vector<ClassifiedPicture> found = pictures_below(folder, folder.filename().string());
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

Error unreadable(const fs::filesystem_error& error) {
  return data_error(
      fmt::format("{}: cannot be read: {}", error.path1().string(), error.code().message()));
}

}  // namespace

PictureSource open_folder(const fs::path& folder) {
  PictureSource source{.origin = folder, .folder_per_class = true};
  std::vector<ClassifiedPicture> found;
  try {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (is_passed_over(entry.path().filename().string())) continue;
      if (!entry.is_directory()) {
        if (has_picture_name(entry.path()))
          source.loose.push_back(entry.path().filename().string());
        continue;
      }
      check_does_not_hold(entry, folder);
      if (is_empty_folder(entry.path())) {
        source.empty.push_back(entry.path().filename().string());
        continue;
      }
      for (auto& one : pictures_of_class(entry.path())) found.push_back(std::move(one));
    }
  } catch (const fs::filesystem_error& error) {
    throw unreadable(error);
  }
  if (found.empty())
    throw data_error(
        fmt::format("{}: has no folders with pictures in it; there must be one for each class",
                    folder.string()));
  take_sorted(std::move(found), source);
  std::ranges::sort(source.loose);
  std::ranges::sort(source.empty);
  return source;
}

PictureSource open_unlabelled_folder(const fs::path& folder) {
  PictureSource source{.origin = folder};
  std::vector<ClassifiedPicture> found;
  try {
    found = pictures_below(folder, kUnlabelled);
  } catch (const fs::filesystem_error& error) {
    throw unreadable(error);
  }
  if (found.empty())
    throw data_error(
        fmt::format("{}: contains no pictures (.jpg, .png, .webp, .heic, .tif and others), not "
                    "even in subfolders",
                    folder.string()));
  take_sorted(std::move(found), source);
  return source;
}

}  // namespace deepvoro
