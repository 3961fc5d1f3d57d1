#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "api.hpp"
#include "deepvoro/picture/decode.hpp"
#include "deepvoro/picture/view.hpp"
#include "picture/encode.hpp"
#include "picture/formats.hpp"
#include "picture/resize.hpp"
#include "project/project_archive.hpp"
#include "project/project_error.hpp"

// What a project is.
namespace deepvoro::serve {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kImmutable = "private, max-age=31536000, immutable";
constexpr std::size_t kLongestSide = 128;  // of a thumbnail

// As a shell takes it.
std::string quoted(const std::string& text) {
  const bool is_plain = text.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "/._-+,") == std::string::npos;
  if (is_plain) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// None of them works before anything is taught.
std::vector<std::string> commands_for(const Project& project, const ProjectSnapshot& snapshot) {
  if (!snapshot.classifier) return {};
  const ClassifierOptions& options = project.options();
  const std::string file = quoted(project.classifier_file().string());
  std::vector<std::string> commands;
  if (project.has_files())
    commands.push_back(fmt::format("deepvoro fit {} --backbone {} --views {} --force --out {}",
                                   quoted(project.pictures_folder().string()),
                                   quoted(options.origin.backbone),
                                   fmt::format("{}", fmt::join(options.views, ",")), file));
  commands.push_back(fmt::format("deepvoro predict {} PICTURE... --reject", file));
  return commands;
}

Bitmap thumbnail_of(const Bitmap& bitmap) {
  const std::size_t longest = std::max(bitmap.width, bitmap.height);
  if (longest <= kLongestSide) return bitmap;
  const auto side = [&](std::size_t length) {
    return std::max<std::size_t>(1, length * kLongestSide / longest);
  };
  return resized(bitmap, side(bitmap.width), side(bitmap.height));
}

std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

ordered_json checked_json(const ProjectCheck& check, const ProjectCheck::Picture& picture) {
  return {
      {"id", picture.id},
      {"class", check.classes[picture.label]},
      {"answer", check.classes[picture.answer]},
      {"probability", picture.probability ? ordered_json(*picture.probability) : ordered_json()},
      {"doubt", picture.doubt}};
}

}  // namespace

Response Api::project_info(const Request& /*request*/, const Arguments& /*arguments*/) {
  const std::shared_ptr<Project> current = project();
  const auto snapshot = current->snapshot();
  const ClassifierOptions& options = current->options();
  const fs::path folder = current->classifier_file().parent_path();
  const auto text_or_null = [](const std::optional<std::string>& text) {
    return text ? ordered_json(*text) : ordered_json();
  };
  return {.body = compact_json(ordered_json{
              {"name", current->has_files() ? folder.filename().string()
                                            : current->classifier_file().stem().string()},
              {"folder", folder.string()},
              {"read_only", options_.read_only},
              {"has_pictures", current->has_files()},
              {"backbone", options.origin.backbone},
              {"size", view_named(options.views.front()).size},
              {"input", current->is_of_sketches() ? "sketch" : "photograph"},
              {"revision", snapshot->revision},
              {"undo", text_or_null(snapshot->undo)},
              {"redo", text_or_null(snapshot->redo)},
              {"commands", commands_for(*current, *snapshot)}})};
}

Response Api::classes(const Request& /*request*/, const Arguments& /*arguments*/) {
  const auto snapshot = project()->snapshot();
  std::map<std::string, std::size_t> counts;
  for (const auto& [id, picture] : snapshot->pictures) ++counts[picture.home.class_name];
  ordered_json classes = ordered_json::array();
  for (const std::string& name : snapshot->classes)
    classes.push_back({{"name", name}, {"pictures", counts[name]}});
  return {.body =
              compact_json(ordered_json{{"revision", snapshot->revision}, {"classes", classes}})};
}

Response Api::pictures(const Request& request, const Arguments& arguments) {
  constexpr std::size_t usual = 200;
  const auto snapshot = project()->snapshot();
  const std::vector<const ProjectPicture*> all =
      snapshot->pictures_of(class_called(arguments.front()));
  const auto check = check_of(*snapshot);
  const std::size_t from = std::min(all.size(), request.head.whole("from", 0));
  const std::size_t count = std::min(all.size() - from, request.head.whole("count", usual));
  ordered_json pictures = ordered_json::array();
  for (std::size_t i = from; i < from + count; ++i) {
    ordered_json picture{{"id", all[i]->id}, {"kind", "picture"}, {"wrong", false}, {"doubt", 0.0}};
    if (const auto place = check->places.find(all[i]->id); place != check->places.end()) {
      const ProjectCheck::Picture& checked = check->pictures[place->second];
      picture["wrong"] = checked.answer != checked.label;
      picture["doubt"] = checked.doubt;
    }
    pictures.push_back(std::move(picture));
  }
  return {.body = compact_json(ordered_json{
              {"revision", snapshot->revision}, {"of", all.size()}, {"pictures", pictures}})};
}

Response Api::picture(const Request& /*request*/, const Arguments& arguments) {
  const std::vector<std::byte> file = project()->file_of(arguments.front());
  return {.type = picture_kind(file, arguments.front()).media_type,
          .body = as_text(file),
          .fields = {{"Cache-Control", kImmutable}}};
}

Response Api::thumbnail(const Request& /*request*/, const Arguments& arguments) {
  const std::shared_ptr<Project> current = project();
  const std::string& id = arguments.front();
  (void)current->snapshot()->picture(id);  // one that was removed has none
  return {.type = "image/png",
          .body = thumbnails_.get(
              id,
              [&] {
                return as_text(encode_png(thumbnail_of(decode_picture(current->file_of(id), id))));
              }),
          .fields = {{"Cache-Control", kImmutable}}};
}

Response Api::check(const Request& /*request*/, const Arguments& /*arguments*/) {
  const auto snapshot = project()->snapshot();
  const auto check = check_of(*snapshot);
  const std::size_t right = check->right();
  const std::size_t of = check->pictures.size();
  ordered_json wrong = ordered_json::array();
  ordered_json doubtful = ordered_json::array();
  for (const ProjectCheck::Picture& picture : check->pictures) {
    if (picture.answer != picture.label) wrong.push_back(checked_json(*check, picture));
    if (picture.doubt > 0.5) doubtful.push_back(checked_json(*check, picture));
  }
  return {.body = compact_json(ordered_json{
              {"revision", snapshot->revision},
              {"accuracy",
               of == 0 ? ordered_json()
                       : ordered_json(static_cast<double>(right) / static_cast<double>(of))},
              {"right", right},
              {"of", of},
              {"confusion", {{"classes", check->classes}, {"counts", check->counts}}},
              {"wrong", wrong},
              {"doubtful", doubtful}})};
}

Response Api::map(const Request& /*request*/, const Arguments& /*arguments*/) {
  const auto snapshot = project()->snapshot();
  const auto text = map_.get(snapshot->revision, [&] {
    const ProjectMap map = map_project(*snapshot);
    ordered_json points = ordered_json::array();
    ordered_json classes = ordered_json::array();
    if (snapshot->classifier) classes = snapshot->classifier->classes();
    for (std::size_t i = 0; i < map.points.size(); ++i)
      points.push_back({{"id", snapshot->sample_ids[i]},
                        {"class", classes[snapshot->classifier->labels()[i]]},
                        {"x", map.points[i][0]},
                        {"y", map.points[i][1]}});
    return compact_json(ordered_json{
        {"revision", snapshot->revision},
        {"points", points},
        {"cells",
         {{"width", map.width}, {"height", map.height}, {"classes", classes}, {"runs", map.runs}}},
        {"bounds", map.bounds}});
  });
  return {.body = *text};
}

Response Api::classifier(const Request& /*request*/, const Arguments& /*arguments*/) {
  const std::shared_ptr<Project> current = project();
  const auto snapshot = current->snapshot();
  if (!snapshot->classifier)
    throw ProjectError(Refusal::missing, "nothing is taught yet; teach a class first");
  const fs::path file = scratch_.new_file();
  snapshot->classifier->save(file);
  return {.type = "application/octet-stream",
          .fields = {{"Content-Disposition", "attachment; filename=\"classifier.dv\""}},
          .file = file};
}

Response Api::archive(const Request& /*request*/, const Arguments& /*arguments*/) {
  const std::shared_ptr<Project> current = project();
  const fs::path file = scratch_.new_file();
  write_archive(*current, *current->snapshot(), file);
  return {.type = "application/zip",
          .fields = {{"Content-Disposition", "attachment; filename=\"project.zip\""}},
          .file = file};
}

}  // namespace deepvoro::serve
