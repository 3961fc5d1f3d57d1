#include "json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

template <class Json>
std::string indented(const Json& document) {
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

using nlohmann::json;

// Readers of documents call themselves for what is nested; nothing of ours is nested this deeply.
constexpr int kDeepest = 64;

struct Refused {
  std::string why;
};

// Throws what the parser does, and Refused.
json parsed(std::string_view text) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  return json::parse(text, [&](int depth, json::parse_event_t event, const json& read) {
    using Event = json::parse_event_t;
    if ((event == Event::object_start || event == Event::array_start) && depth >= kDeepest)
      throw Refused{fmt::format("is nested more than {} levels deep", kDeepest)};
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(read.get<std::string>()).second)
      throw Refused{fmt::format("has the key '{}' twice in one object", read.get<std::string>())};
    return true;
  });
}

}  // namespace

nlohmann::json read_json(const std::filesystem::path& file) {
  try {
    return parsed(read_text(file));
  } catch (const Refused& refused) {
    throw data_error(fmt::format("{}: {}", file.string(), refused.why));
  } catch (const json::parse_error& error) {
    throw data_error(fmt::format("{}: is not valid JSON at byte {}", file.string(), error.byte));
  } catch (const json::out_of_range&) {
    throw data_error(fmt::format("{}: holds a number that is out of range", file.string()));
  }
}

nlohmann::json parse_json(std::string_view text) {
  try {
    return parsed(text);
  } catch (const Refused&) {
  } catch (const json::exception&) {
  }
  json broken(json::value_t::discarded);
  return broken;
}

std::string json_text(const nlohmann::json& document) {
  return indented(document);
}
std::string json_text(const nlohmann::ordered_json& document) {
  return indented(document);
}

}  // namespace deepvoro
