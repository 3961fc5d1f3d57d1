#include "json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/files.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

template <class Json>
std::string indented(const Json& document) {
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

nlohmann::json read_json(const std::filesystem::path& file) {
  using nlohmann::json;
  try {
    return json::parse(read_text(file));
  } catch (const json::parse_error& error) {
    throw data_error(fmt::format("{}: is not valid JSON at byte {}", file.string(), error.byte));
  } catch (const json::out_of_range&) {
    throw data_error(fmt::format("{}: holds a number that is out of range", file.string()));
  }
}

nlohmann::json parse_json(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, false);
}

std::string json_text(const nlohmann::json& document) {
  return indented(document);
}
std::string json_text(const nlohmann::ordered_json& document) {
  return indented(document);
}

}  // namespace deepvoro
