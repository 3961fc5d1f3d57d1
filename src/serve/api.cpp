#include "api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "composed_text.hpp"
#include "core/text.hpp"
#include "project/project_error.hpp"

namespace deepvoro::serve {
namespace {

constexpr std::size_t kSmallBody = std::size_t{64} << 10U;
constexpr std::size_t kThumbnailBytes = std::size_t{32} << 20U;
constexpr std::size_t kRememberedAnswers = 1000;
constexpr std::size_t kLongestKey = 200;

// What a browser may do with anything that comes from here.
std::vector<std::pair<std::string, std::string>> security_fields() {
  return {{"Content-Security-Policy",
           "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; "
           "form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Permissions-Policy", "camera=(self), microphone=(), geolocation=()"},
          {"Cache-Control", "no-store"}};
}

unsigned status_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::invalid:
      return 400;
    case Refusal::missing:
      return 404;
    case Refusal::busy:
      return 503;
    case Refusal::storage:
      break;
  }
  return 507;
}

Response later(const std::string& what, const char* seconds) {
  Response response = error_response(503, what);
  response.fields.emplace_back("Retry-After", seconds);
  return response;
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream text(path);
  for (std::string part; std::getline(text, part, '/');)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

}  // namespace

Api::Api(Options options)
    : options_(std::move(options)),
      gate_(options_.gate),
      thumbnails_(kThumbnailBytes),
      answered_(kRememberedAnswers) {
  const std::size_t body = options_.most_body_bytes;
  routes_ = {
      {"GET", "/", Lane::at_once, 0, &Api::page, false},
      {"GET", "/assets/*", Lane::at_once, 0, &Api::asset, false},
      {"GET", "/*", Lane::at_once, 0, &Api::asset, false},
      {"GET", "/api/health", Lane::at_once, 0, &Api::health, false},
      {"GET", "/api/metrics", Lane::at_once, 0, &Api::metrics, false},
      {"GET", "/api/openapi.json", Lane::at_once, 0, &Api::openapi, false},
      {"GET", "/api/project", Lane::at_once, 0, &Api::project_info},
      {"GET", "/api/classes", Lane::at_once, 0, &Api::classes},
      {"POST", "/api/predict", Lane::question, body, &Api::predict, true, {"reject", "why"}},
      {"GET", "/api/classes/*/pictures", Lane::reading, 0, &Api::pictures, true, {"count", "from"}},
      {"GET", "/api/pictures/*", Lane::reading, 0, &Api::picture},
      {"GET", "/api/pictures/*/thumbnail", Lane::reading, 0, &Api::thumbnail},
      {"GET", "/api/check", Lane::reading, 0, &Api::check},
      {"GET", "/api/map", Lane::reading, 0, &Api::map},
      {"GET", "/api/classifier", Lane::reading, 0, &Api::classifier},
      {"GET", "/api/project.zip", Lane::reading, 0, &Api::archive},
      {"POST", "/api/project.zip", Lane::change, options_.most_archive_bytes, &Api::import_archive},
      {"POST", "/api/classes", Lane::change, kSmallBody, &Api::add_class},
      {"POST", "/api/classes/*/pictures", Lane::change, body, &Api::teach},
      {"POST", "/api/classes/*/rename", Lane::change, kSmallBody, &Api::rename_class},
      {"DELETE", "/api/classes/*", Lane::change, kSmallBody, &Api::remove_class},
      {"POST", "/api/pictures/*/move", Lane::change, kSmallBody, &Api::move_picture},
      {"DELETE", "/api/pictures/*", Lane::change, kSmallBody, &Api::remove_picture},
      {"POST", "/api/undo", Lane::change, kSmallBody, &Api::undo},
      {"POST", "/api/redo", Lane::change, kSmallBody, &Api::redo},
  };
  for (const Route& route : routes_) route_parts_.push_back(parts_of(route.path));
}

Application Api::application() {
  return {.admit = [this](const RequestHead& head) { return admit(head); },
          .answer = [this](const Request& request) { return answer(request); },
          .answered = [this](const Response& response,
                             double seconds) { metrics_.count(response, seconds); },
          .fields = security_fields()};
}

void Api::set_project(std::shared_ptr<Project> project) {
  const std::scoped_lock lock(project_guard_);
  project_ = std::move(project);
}

std::shared_ptr<Project> Api::project() const {
  const std::scoped_lock lock(project_guard_);
  return project_;
}

Api::Match Api::match(const RequestHead& head) const {
  Match found;
  const std::string method = head.method == "HEAD" ? "GET" : head.method;
  for (std::size_t r = 0; r < routes_.size(); ++r) {
    const Route& route = routes_[r];
    const std::vector<std::string>& parts = route_parts_[r];
    if (parts.size() != head.path.size()) continue;
    Arguments arguments;
    bool fits = true;
    for (std::size_t i = 0; fits && i < parts.size(); ++i) {
      fits = parts[i] == "*" || parts[i] == head.path[i];
      if (parts[i] == "*") arguments.push_back(head.path[i]);
    }
    if (!fits) continue;
    if (method == route.method) return {&route, std::move(arguments)};
    found.allowed += (found.allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  return found;
}

std::string Api::name_of(const Route& route) {
  return fmt::format("{} {}", route.method, route.path);
}

std::optional<Response> Api::refusal_at(const Route& route, const RequestHead& head) const {
  // Pages may be opened with anything behind their path.
  const bool is_of_api = std::string_view(route.path).starts_with("/api/");
  for (const auto& [name, value] : head.query)
    if (is_of_api && std::ranges::find(route.parameters, name) == route.parameters.end())
      return error_response(400,
                            fmt::format("there is no parameter '{}' here; {}", as_text_line(name),
                                        route.parameters.empty()
                                            ? "none is taken"
                                            : "those that there are: " + listed(route.parameters)));
  if (route.needs_project && !project())
    return later("the network is being loaded; try again in a moment", "1");
  if (route.lane == Lane::change && options_.read_only)
    return error_response(403, "this server is read-only; nothing can be changed");
  return std::nullopt;
}

Admission Api::admit(const RequestHead& head) const {
  Admission admission{.refusal = gate_.refusal(head)};
  if (admission.refusal) return admission;
  const Match found = match(head);
  if (found.route == nullptr) {
    const bool is_path = !found.allowed.empty();
    admission.refusal = error_response(
        is_path ? 405 : 404, is_path ? fmt::format("{} is not possible here, only {}",
                                                   as_text_line(head.method), found.allowed)
                                     : "there is nothing here; see /api/openapi.json");
    if (is_path) admission.refusal->fields.emplace_back("Allow", found.allowed);
    return admission;
  }
  admission.most_body_bytes = found.route->most_body_bytes;
  admission.lane = found.route->lane;
  admission.refusal = refusal_at(*found.route, head);
  if (admission.refusal) admission.refusal->route = name_of(*found.route);
  return admission;
}

Response Api::answer(const Request& request) {
  const Match found = match(request.head);
  const auto answered = [&] { return answer_route(request, found); };
  std::string key;
  if (found.route->lane == Lane::change && !request.head.field("x-deepvoro-request").empty())
    key = (request.head.method + " " + found.route->path + " " +
           request.head.field("x-deepvoro-request"))
              .substr(0, kLongestKey);
  return answered_.once(key, answered);
}

Response Api::answer_route(const Request& request, const Match& match) {
  Response response;
  try {
    response = (this->*match.route->answer)(request, match.arguments);
  } catch (const ProjectError& error) {
    response = error.refusal() == Refusal::busy
                   ? later(error.what(), "1")
                   : error_response(status_of(error.refusal()), error.what());
  } catch (const Error& error) {
    response = error_response(error.kind() == ErrorKind::internal ? 500 : 400, error.what());
  } catch (const std::bad_alloc&) {
    response = later("out of memory; send less at once", "5");
  } catch (const std::exception& error) {
    response = error_response(500, fmt::format("internal error: {}", error.what()));
  }
  response.route = name_of(*match.route);
  return response;
}

std::string Api::class_called(const std::string& name) const {
  const auto snapshot = project()->snapshot();
  if (snapshot->has_class(name)) return name;
  std::string meant = composed(name);
  for (const std::string& known : snapshot->classes)
    if (composed(known) == meant) return known;
  return meant;
}

std::shared_ptr<const ProjectCheck> Api::check_of(const ProjectSnapshot& snapshot) {
  return check_.get(snapshot.revision, [&] { return check_project(snapshot); });
}

}  // namespace deepvoro::serve
