#include "class_names.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/files.hpp"
#include "core/json_text.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestFile = std::size_t{64} << 20U;

std::vector<std::string> json_names(const std::string& text, const std::string& where) {
  const json list = parse_json(text);
  const auto is_string = [](const json& name) { return name.is_string(); };
  if (!list.is_array() || !std::ranges::all_of(list, is_string))
    throw data_error(fmt::format("{}: is not a JSON list of names", where));
  return list.get<std::vector<std::string>>();
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    names.push_back(std::move(line));
  }
  return names;
}

bool is_utf8(const std::string& name) {
  try {
    return !json(name).dump().empty();
  } catch (const json::type_error&) {
    return false;
  }
}

}  // namespace

std::vector<std::string> read_class_names(const std::filesystem::path& file) {
  const std::string where = file.string();
  const std::string text = read_text(file, kLargestFile);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  const bool is_json = start != std::string::npos && text[start] == '[';
  std::vector<std::string> names = is_json ? json_names(text, where) : lines(text);

  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || !is_utf8(names[i]))
      throw data_error(
          fmt::format("{}: name {} is {}", where, i + 1,
                      names[i].empty() ? "empty; give every class a name" : "not UTF-8"));
    if (!seen.insert(names[i]).second)
      throw data_error(fmt::format("{}: the name '{}' appears twice", where, names[i]));
  }
  return names;
}

}  // namespace deepvoro
