#include "picture_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
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

bool has_picture_name(const std::filesystem::path& file) {
  return std::ranges::count(kEndings, lower_case(file.extension().string())) == 1 &&
         !file.filename().string().starts_with('.');
}

void take_sorted(std::vector<ClassifiedPicture> found, PictureSource& source) {
  const auto key = [](const ClassifiedPicture& one) {
    return std::tie(one.class_name, one.picture.file);
  };
  std::ranges::sort(found, {}, key);
  const auto twice = std::ranges::adjacent_find(found, {}, key);
  if (twice != found.end())
    throw data_error(fmt::format("{}: holds {}/{} twice; rename one", source.origin.string(),
                                 twice->class_name, twice->picture.file));
  for (auto& [class_name, picture] : found) {
    if (source.classes.empty() || source.classes.back() != class_name)
      source.classes.push_back(class_name);
    picture.label = source.classes.size() - 1;
    source.pictures.push_back(std::move(picture));
  }
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
