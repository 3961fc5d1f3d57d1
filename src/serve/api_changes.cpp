#include <algorithm>
#include <nlohmann/json.hpp>

#include "api.hpp"
#include "composed_text.hpp"
#include "core/json_text.hpp"
#include "core/without_name.hpp"
#include "multipart.hpp"
#include "project/project_archive.hpp"
#include "project/project_error.hpp"

// What changes a project.
namespace deepvoro::serve {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// All that an archive may unpack to.
constexpr std::size_t kMostUnpacked = std::size_t{512} << 20U;

std::string text_in(const Request& request, const char* key) {
  const json body = parse_json(request.body);
  if (!body.is_object() || !body.contains(key) || !body[key].is_string())
    throw ProjectError(Refusal::invalid,
                       std::string("the body must be JSON with the text \"") + key + "\"");
  return body[key].get<std::string>();
}

Response with_revision(std::uint64_t revision) {
  return {.body = compact_json(ordered_json{{"revision", revision}})};
}

Response what_was_done(const Project::Done& done) {
  return {.body = compact_json(ordered_json{{"revision", done.revision}, {"did", done.what}})};
}

Response taught_response(const Project::Taught& taught,
                         const std::vector<Project::NewPicture>& pictures) {
  ordered_json body{{"added", ordered_json::array()},
                    {"known", ordered_json::array()},
                    {"refused", ordered_json::array()},
                    {"notes", taught.notes}};
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    if (taught.known[i])
      body["known"].push_back({{"index", i}, {"name", pictures[i].name}, {"id", taught.ids[i]}});
    else if (!taught.ids[i].empty())
      body["added"].push_back({{"id", taught.ids[i]}});
    else
      body["refused"].push_back({{"index", i},
                                 {"name", pictures[i].name},
                                 {"error", without_name(taught.errors[i], pictures[i].name)}});
  }
  body["revision"] = taught.revision;
  const bool is_refused = !pictures.empty() && body["added"].empty() && body["known"].empty();
  if (is_refused) body["error"] = taught.errors.front();
  return {.status = is_refused ? 400U : 200U, .body = compact_json(body)};
}

}  // namespace

Response Api::teach(const Request& request, const Arguments& arguments) {
  std::vector<Project::NewPicture> pictures;
  const std::string class_name = class_called(arguments.front());
  for (const SentFile& file : sent_files(request))
    pictures.push_back({class_name, file.name, file.bytes});
  return taught_response(project()->teach(pictures, request.head.field("x-deepvoro-group")),
                         pictures);
}

Response Api::import_archive(const Request& request, const Arguments& /*arguments*/) {
  ArchivedPictures archive = read_archive(std::as_bytes(std::span(request.body)), kMostUnpacked);
  for (Project::NewPicture& picture : archive.pictures)
    picture.class_name = class_called(picture.class_name);
  for (std::string& name : archive.classes) name = class_called(name);
  return taught_response(project()->teach(archive.pictures, {}, archive.classes), archive.pictures);
}

Response Api::add_class(const Request& request, const Arguments& /*arguments*/) {
  return with_revision(project()->add_class(class_called(text_in(request, "name"))));
}

Response Api::rename_class(const Request& request, const Arguments& arguments) {
  const std::string name = class_called(arguments.front());
  const std::string to = composed(text_in(request, "to"));
  const std::string other = class_called(to);
  return with_revision(project()->rename_class(name, other == name ? to : other));
}

Response Api::remove_class(const Request& /*request*/, const Arguments& arguments) {
  return with_revision(project()->remove_class(class_called(arguments.front())));
}

Response Api::move_picture(const Request& request, const Arguments& arguments) {
  return with_revision(
      project()->move_picture(arguments.front(), class_called(text_in(request, "to"))));
}

Response Api::remove_picture(const Request& /*request*/, const Arguments& arguments) {
  return with_revision(project()->remove_picture(arguments.front()));
}

Response Api::undo(const Request& /*request*/, const Arguments& /*arguments*/) {
  return what_was_done(project()->undo());
}

Response Api::redo(const Request& /*request*/, const Arguments& /*arguments*/) {
  return what_was_done(project()->redo());
}

}  // namespace deepvoro::serve
