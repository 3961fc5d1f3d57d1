#include "picture_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "core/text.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

constexpr std::array<std::string_view, 13> kEndings{".jpg",  ".jpeg", ".jpe",  ".png",  ".bmp",
                                                    ".gif",  ".tif",  ".tiff", ".webp", ".ppm",
                                                    ".heic", ".heif", ".avif"};

}  // namespace

bool is_passed_over(std::string_view name) {
  return name.starts_with('.') || name == "__MACOSX";
}

bool has_picture_name(const std::filesystem::path& file) {
  return std::ranges::count(kEndings, lower_case(file.extension().string())) == 1 &&
         !is_passed_over(file.filename().string());
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  const auto some = std::span(names).first(std::min(most, names.size()));
  return fmt::format("{}{}", fmt::join(some, ", "), names.size() > most ? ", ..." : "");
}

void take_sorted(std::vector<ClassifiedPicture> found, PictureSource& source) {
  const auto key = [](const ClassifiedPicture& one) {
    return std::tie(one.class_name, one.picture.file);
  };
  std::ranges::sort(found, {}, key);
  const auto twice = std::ranges::adjacent_find(found, {}, key);
  if (twice != found.end()) {
    const std::array containers{twice->picture.container, std::next(twice)->picture.container};
    if (containers[0] != containers[1])
      throw data_error(
          fmt::format("{} and {}: both have {}; keys must differ between shards, rename one",
                      source.containers[std::ranges::min(containers)].path().string(),
                      source.containers[std::ranges::max(containers)].path().filename().string(),
                      source.folder_per_class ? twice->class_name + "/" + twice->picture.file
                                              : twice->picture.file));
    throw data_error(fmt::format("{}: holds {}/{} twice; rename one", source.origin.string(),
                                 twice->class_name, twice->picture.file));
  }
  for (auto& [class_name, picture] : found) {
    if (source.classes.empty() || source.classes.back() != class_name)
      source.classes.push_back(class_name);
    picture.label = source.classes.size() - 1;
    source.pictures.push_back(std::move(picture));
  }
}

namespace {

// The folder that a picture of a class lies in, from the class on.
std::string folder_of(const PictureSource& source, const PicturePlace& picture) {
  const std::string& name = source.classes[picture.label];
  const std::size_t slash = picture.file.rfind('/');
  return slash == std::string::npos ? name : name + "/" + picture.file.substr(0, slash);
}

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string some_of(const std::set<std::string>& names) {
  return deepvoro::some_of({names.begin(), names.end()});
}

// How people call the parts of a collection, which are no classes.
bool is_part_name(const std::string& name) {
  constexpr std::array<std::string_view, 11> known{"train", "training", "test",       "testing",
                                                   "val",   "valid",    "validation", "dev",
                                                   "eval",  "query",    "support"};
  return std::ranges::count(known, lower_case(name)) == 1;
}

}  // namespace

void check_are_classes(const PictureSource& source, ClassFolders folders) {
  const std::vector<std::string>& parts = source.classes;
  const bool is_one_part = parts.size() == 1 && folders == ClassFolders::inner;
  if (!source.folder_per_class || is_one_part || !std::ranges::all_of(parts, is_part_name)) return;
  std::set<std::string> inner;
  for (const PicturePlace& picture : source.pictures) {
    const std::size_t slash = picture.file.find('/');
    if (slash == std::string::npos) return;
    inner.insert(picture.file.substr(0, slash));
  }
  const auto training = std::ranges::find_if(
      parts, [](const std::string& name) { return lower_case(name).starts_with("train"); });
  const std::string& one = training == parts.end() ? parts.front() : *training;
  throw data_error(fmt::format(
      "{}: the classes ({}) are in {}, {}; {}", source.origin.string(), some_of(inner),
      some_of(parts), parts.size() == 1 ? "which is no class" : "which are no classes",
      !source.containers.empty() ? fmt::format("unpack it and give the folder {}", one)
                                 : fmt::format("give {}", (source.origin / one).string())));
}

void take_inner_folders(PictureSource& source) {
  if (!source.folder_per_class) return;
  std::set<std::string> folders;
  for (const PicturePlace& picture : source.pictures) folders.insert(folder_of(source, picture));
  std::map<std::string, std::size_t> of_name;
  for (const std::string& folder : folders) ++of_name[last_part(folder)];
  std::vector<ClassifiedPicture> found;
  for (PicturePlace& picture : source.pictures) {
    const std::string folder = folder_of(source, picture);
    picture.file = last_part(picture.file);
    const std::string name = last_part(folder);
    if (of_name[name] > 1 && source.named_by_path.empty()) source.named_by_path = folder;
    found.push_back({of_name[name] == 1 ? name : folder, std::move(picture)});
  }
  source.classes.clear();
  source.pictures.clear();
  take_sorted(std::move(found), source);
}

std::vector<std::string> notes_on(const PictureSource& source) {
  std::vector<std::string> notes;
  if (source.folder_per_class) {
    std::map<std::string, std::set<std::string>> inner;
    for (const PicturePlace& picture : source.pictures) {
      const std::string folder = folder_of(source, picture);
      const std::string& name = source.classes[picture.label];
      if (folder != name) inner[name].insert(folder.substr(name.size() + 1));
    }
    if (!inner.empty()) {
      const auto& [name, folders] = *inner.begin();
      notes.push_back(fmt::format(
          "{}: class '{}' has pictures in folders within its own ({}){}; all of them count as "
          "'{}', and `leaves` makes every such folder a class",
          source.origin.string(), name, some_of(folders),
          inner.size() == 1
              ? ""
              : fmt::format(", and so {} {}", inner.size() == 2 ? "has" : "have",
                            counted(inner.size() - 1, "other class", "other classes")),
          name));
    }
  }
  if (!source.named_by_path.empty())
    notes.push_back(fmt::format(
        "{}: folders of the same name are several classes, named by their paths, such as '{}'; if "
        "they are one class, put their pictures into one folder",
        source.origin.string(), source.named_by_path));
  if (!source.empty.empty())
    notes.push_back(fmt::format(
        "{}: {} no class, because nothing is in {} ({})", source.origin.string(),
        source.empty.size() == 1 ? "a folder is" : counted(source.empty.size(), "folder") + " are",
        source.empty.size() == 1 ? "it" : "them", some_of(source.empty)));
  if (!source.loose.empty())
    notes.push_back(fmt::format(
        "{}: {} beside the folders of classes will not be used ({}); put them into the folder "
        "of a class",
        source.origin.string(), counted(source.loose.size(), "picture"), some_of(source.loose)));
  return notes;
}

void drop_empty_classes(PictureSource& source) {
  constexpr std::size_t unused = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> place(source.classes.size(), unused);
  for (const PicturePlace& picture : source.pictures) place[picture.label] = 0;
  std::vector<std::string> kept;
  for (std::size_t label = 0; label < place.size(); ++label) {
    if (place[label] == unused) continue;
    place[label] = kept.size();
    kept.push_back(std::move(source.classes[label]));
  }
  source.classes = std::move(kept);
  for (PicturePlace& picture : source.pictures) picture.label = place[picture.label];
}

void check_names(const PictureSource& source) {
  const std::string where = source.origin.string();
  if (source.pictures.empty()) throw data_error(fmt::format("{}: holds no pictures", where));
  std::set<std::string_view> seen;
  for (const std::string& name : source.classes) {
    if (!is_text_line(name))
      throw data_error(fmt::format("{}: class {} has a name that is not UTF-8 text on one line",
                                   where, &name - source.classes.data()));
    if (!seen.insert(name).second)
      throw data_error(fmt::format("{}: the class '{}' appears twice", where, name));
  }
  for (const PicturePlace& picture : source.pictures)
    if (!is_text_line(picture.file))
      throw data_error(
          fmt::format("{}: picture {} of class '{}' has a name that is not UTF-8 text on one line",
                      where, &picture - source.pictures.data(), source.classes[picture.label]));
}

}  // namespace deepvoro
