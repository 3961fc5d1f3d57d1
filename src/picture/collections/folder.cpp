#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text.hpp"
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

bool is_compressed_shard(const fs::path& file) {
  const std::string name = lower_case(file.filename().string());
  constexpr std::array<std::string_view, 5> endings{".tar.gz", ".tgz", ".tar.bz2", ".tar.xz",
                                                    ".tar.zst"};
  return std::ranges::any_of(endings, [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace

FolderContents::FolderContents(fs::path the_folder) : folder(std::move(the_folder)) {
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    const fs::path& path = entry.path();
    const std::string name = path.filename().string();
    if (is_passed_over(name)) continue;
    if (entry.is_directory(unreadable))
      folders.push_back(name);
    else if (has_picture_name(path))
      pictures.push_back(name);
    else if (path.extension() == ".tar")
      shards.push_back(name);
    else if (is_compressed_shard(path))
      compressed_shards.push_back(name);
  }
  for (auto* names : {&folders, &pictures, &shards, &compressed_shards}) std::ranges::sort(*names);
}

bool FolderContents::has_shards_alone() const {
  return !shards.empty() && folders.empty() && pictures.empty() && compressed_shards.empty();
}

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
  const FolderContents contents(folder);
  if (found.empty() && !contents.compressed_shards.empty())
    throw data_error(fmt::format(
        "{}: holds {}; shards in a folder must not be compressed, decompress them (gunzip "
        "makes .tar of .tar.gz)",
        folder.string(), some_of(contents.compressed_shards)));
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
