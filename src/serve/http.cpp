#include "http.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/text.hpp"
#include "project/project_error.hpp"

namespace deepvoro::serve {
namespace {

const std::string kNothing;

std::optional<unsigned char> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned char>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned char>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned char>(c - 'A' + 10);
  return std::nullopt;
}

// What %XX stand for; nothing where one is broken.
std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto high = hex_digit(text[i + 1]);
    const auto low = hex_digit(text[i + 2]);
    if (!high || !low) return std::nullopt;
    out += static_cast<char>(*high << 4U | *low);
    i += 2;
  }
  return out;
}

template <class Take>
bool for_each_part(std::string_view text, char separator, const Take& take) {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (!take(text.substr(0, end))) return false;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return true;
}

const std::string& found_in(const std::map<std::string, std::string>& all,
                            const std::string& name) {
  const auto found = all.find(name);
  return found == all.end() ? kNothing : found->second;
}

[[noreturn]] void fail_parameter(const std::string& name, const char* expected,
                                 const std::string& text) {
  throw ProjectError(Refusal::invalid, fmt::format("the parameter '{}' must be {}, not '{}'", name,
                                                   expected, as_text_line(text)));
}

}  // namespace

const std::string& RequestHead::field(const std::string& name) const {
  return found_in(fields, name);
}

const std::string& RequestHead::parameter(const std::string& name) const {
  return found_in(query, name);
}

bool RequestHead::flag(const std::string& name, bool otherwise) const {
  const auto found = query.find(name);
  if (found == query.end()) return otherwise;
  if (found->second != "0" && found->second != "1") fail_parameter(name, "0 or 1", found->second);
  return found->second == "1";
}

std::size_t RequestHead::whole(const std::string& name, std::size_t otherwise) const {
  const auto found = query.find(name);
  if (found == query.end()) return otherwise;
  const std::string& text = found->second;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    fail_parameter(name, "a whole number", text);
  return number;
}

bool parse_target(const std::string& target, RequestHead& head) {
  const std::size_t question = target.find('?');
  std::string_view path = std::string_view(target).substr(0, question);
  if (!path.starts_with('/')) return false;
  path.remove_prefix(1);
  const bool is_path = for_each_part(path, '/', [&](std::string_view part) {
    auto text = decoded(part);
    if (!text) return false;
    head.path.push_back(*std::move(text));
    return true;
  });
  if (!is_path || question == std::string::npos) return is_path;
  return for_each_part(
      std::string_view(target).substr(question + 1), '&', [&](std::string_view part) {
        const std::size_t equal = part.find('=');
        auto name = decoded(part.substr(0, equal));
        auto value = decoded(equal == std::string_view::npos ? "" : part.substr(equal + 1));
        if (!name || !value) return false;
        return head.query.try_emplace(*std::move(name), *std::move(value)).second;
      });
}

std::string compact_json(const nlohmann::ordered_json& document) {
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Response error_response(unsigned status, const std::string& what) {
  return {.status = status,
          .body = compact_json(nlohmann::ordered_json{{"error", as_text_line(what)}})};
}

}  // namespace deepvoro::serve
