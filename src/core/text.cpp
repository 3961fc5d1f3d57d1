#include "text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>

namespace deepvoro {
namespace {

// How many bytes the control character has that a text begins with; 0 where it begins otherwise.
std::size_t control_character(std::string_view text) {
  if (std::iscntrl(static_cast<unsigned char>(text[0])) != 0) return 1;
  // U+0080 to U+009F, which some terminals obey as well.
  const bool is_second_kind = text.size() > 1 && text[0] == '\xC2' &&
                              (static_cast<unsigned char>(text[1]) & 0xE0U) == 0x80U;
  return is_second_kind ? 2 : 0;
}

// `replace` is given each control character.
template <class Replace>
std::string with_control_characters_replaced(std::string_view text, const Replace& replace) {
  std::string out;
  while (!text.empty()) {
    const std::size_t control = control_character(text);
    out += control > 0 ? replace(text.substr(0, control)) : std::string(1, text[0]);
    text.remove_prefix(std::max<std::size_t>(control, 1));
  }
  return out;
}

}  // namespace

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string as_text_line(std::string text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  if (std::ranges::all_of(text, is_plain)) return text;
  text = with_control_characters_replaced(text, [](std::string_view) { return std::string(" "); });
  using nlohmann::json;
  const std::string valid = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  return json::parse(valid).get<std::string>();
}

std::string with_control_characters_escaped(const std::string& text) {
  return with_control_characters_replaced(text, [](std::string_view character) {
    std::string escaped;
    for (const char byte : character)
      escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    return escaped;
  });
}

bool is_text_line(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (control_character(std::string_view(text).substr(i)) > 0) return false;
  try {
    return !text.empty() && !nlohmann::json(text).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

std::string listed(std::span<const std::string> names) {
  constexpr std::size_t most = 10;
  if (names.size() <= most) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.first(most), ", "), names.size() - most);
}

std::string counted(std::size_t count, std::string_view one, std::string_view several) {
  if (count == 1) return fmt::format("1 {}", one);
  return several.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, several);
}

}  // namespace deepvoro
