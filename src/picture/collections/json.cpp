#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "deepvoro/core/error.hpp"
#include "picture_source.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const json& list(const json& object, const char* key, const std::string& where) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_array())
    throw data_error(fmt::format(
        "{}: the list \"{}\" is missing; label_names, image_names and image_labels are needed",
        where, key));
  return *found;
}

// Such files mostly hold absolute paths of the machine they were made on. Where there is no such
// file, the end of the path is looked for beside the JSON file.
fs::path located(const std::string& name, const fs::path& folder) {
  fs::path path = folder / name;  // an absolute name stays as it is
  std::error_code ignored;
  if (fs::exists(path, ignored)) return path;
  const fs::path relative = fs::path(name).relative_path();
  for (auto part = relative.begin(); part != relative.end(); ++part) {
    fs::path candidate = folder;
    for (auto rest = part; rest != relative.end(); ++rest) candidate /= *rest;
    if (fs::exists(candidate, ignored)) return candidate;
  }
  return path;
}

}  // namespace

PictureSource open_json(const fs::path& file) {
  const std::string where = file.string();
  const json object = read_json(file);
  const json& classes = list(object, "label_names", where);
  const json& names = list(object, "image_names", where);
  const json& labels = list(object, "image_labels", where);
  if (names.size() != labels.size())
    throw data_error(fmt::format("{}: has {} image_names but {} image_labels", where, names.size(),
                                 labels.size()));

  PictureSource source{.origin = file};
  for (const json& name : classes) {
    if (!name.is_string())
      throw data_error(
          fmt::format("{}: label_names[{}] is not a string", where, source.classes.size()));
    source.classes.push_back(name);
  }
  if (source.classes.empty()) throw data_error(fmt::format("{}: label_names is empty", where));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].is_string())
      throw data_error(fmt::format("{}: image_names[{}] is not a string", where, i));
    if (!labels[i].is_number_unsigned() || labels[i] >= source.classes.size())
      throw data_error(
          fmt::format("{}: image_labels[{}] is not a whole number from 0 to {}, as there are {} "
                      "label_names",
                      where, i, source.classes.size() - 1, source.classes.size()));
    const std::string name = names[i];
    source.pictures.push_back(
        {.label = labels[i], .file = name, .path = located(name, file.parent_path())});
  }
  drop_empty_classes(source);
  return source;
}

}  // namespace deepvoro
