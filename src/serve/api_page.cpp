#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api.hpp"
#include "deepvoro/core/version.hpp"
#include "openapi.hpp"
#include "page_assets.hpp"

// The page, and what says how the server is.
namespace deepvoro::serve {
namespace {

using nlohmann::ordered_json;

const PageAsset* asset_at(const std::string& path) {
  const auto assets = page_assets();
  const auto found = std::ranges::find(assets, path, &PageAsset::path);
  return found == assets.end() ? nullptr : &*found;
}

}  // namespace

Response Api::page(const Request& request, const Arguments& /*arguments*/) {
  const PageAsset* index = asset_at("/index.html");
  if (index == nullptr)
    return {.type = "text/plain; charset=utf-8",
            .body = "the page is not built; the API is described at /api/openapi.json\n"};
  Response response{.type = std::string(index->type), .body = std::string(index->bytes)};
  constexpr std::string_view place = "@token@";
  const bool gives = gate_.gives_token(request.head);
  // Letters and digits alone: nothing to escape.
  if (const std::size_t at = response.body.find(place); at != std::string::npos)
    response.body.replace(at, place.size(), gives ? gate_.token() : "");
  if (gives && gate_.is_public()) response.fields.emplace_back("Set-Cookie", gate_.cookie());
  return response;
}

Response Api::asset(const Request& request, const Arguments& /*arguments*/) {
  std::string path;
  for (const std::string& part : request.head.path) path += "/" + part;
  const PageAsset* found = asset_at(path);
  if (found == nullptr || path == "/index.html")
    return error_response(404, "there is nothing here; see /api/openapi.json");
  Response response{.type = std::string(found->type), .body = std::string(found->bytes)};
  if (request.head.path.size() > 1)  // its name has its hash in it
    response.fields.emplace_back("Cache-Control", "public, max-age=31536000, immutable");
  return response;
}

Response Api::health(const Request& /*request*/, const Arguments& /*arguments*/) {
  const std::shared_ptr<Project> current = project();
  const double left = seconds_left_;
  ordered_json health{{"status", current ? "ok" : "loading"}, {"version", version()}};
  if (current) health["backbone"] = current->options().origin.backbone;
  if (!current && left >= 0) health["seconds_left"] = left;
  return {.body = compact_json(health)};
}

Response Api::metrics(const Request& /*request*/, const Arguments& /*arguments*/) {
  std::vector<Metrics::Gauge> gauges;
  if (connections_)
    gauges.push_back(
        {"deepvoro_connections", "Open connections.", static_cast<double>(connections_())});
  if (const std::shared_ptr<Project> current = project()) {
    const auto snapshot = current->snapshot();
    gauges.push_back({"deepvoro_pictures", "Pictures that are taught.",
                      static_cast<double>(snapshot->pictures.size())});
    gauges.push_back(
        {"deepvoro_classes", "Classes.", static_cast<double>(snapshot->classes.size())});
    gauges.push_back(
        {"deepvoro_revision", "Changes since the start.", static_cast<double>(snapshot->revision)});
    gauges.push_back({"deepvoro_waiting_pictures", "Pictures that wait for the network.",
                      static_cast<double>(current->waiting())});
  }
  return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_.text(gauges)};
}

Response Api::openapi(const Request& /*request*/, const Arguments& /*arguments*/) {
  return {.body = std::string(openapi_json())};
}

}  // namespace deepvoro::serve
