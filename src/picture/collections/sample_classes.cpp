#include "sample_classes.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/json_text.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

std::string key_of(const std::string& path) {
  const std::size_t name = path.rfind('/') + 1;  // 0 where there is no folder
  return path.substr(0, path.find('.', name));
}

std::string trimmed(std::string_view text) {
  constexpr const char* blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(blanks) + 1 - begin));
}

std::string class_in_json(std::string_view text) {
  const nlohmann::json object = parse_json(text);
  if (!object.is_object()) return {};
  for (const char* key : {"class", "label", "cls"}) {
    const nlohmann::json value = object.value(key, nlohmann::json());
    if (value.is_string()) return trimmed(value.get<std::string>());
    if (value.is_number_integer()) return value.dump();
  }
  return {};
}

}  // namespace

bool SampleClasses::may_tell(const std::string& path) {
  return path.ends_with(".cls") || path.ends_with(".json");
}

void SampleClasses::add(const std::string& path, std::span<const std::byte> content,
                        const std::string& where) {
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  const std::string name = path.ends_with(".cls") ? trimmed(text) : class_in_json(text);
  if (name.empty()) return;
  if (archives_.empty() || archives_.back() != where) archives_.push_back(where);
  const auto [earlier, is_new] =
      classes_.try_emplace(key_of(path), Told{name, archives_.size() - 1});
  if (is_new || earlier->second.name == name) return;
  if (earlier->second.archive != archives_.size() - 1)
    throw data_error(fmt::format(
        "{} and {}: both have the sample '{}', of class '{}' in one and '{}' in the "
        "other; keys must differ between shards, rename one",
        archives_[earlier->second.archive], where, earlier->first, earlier->second.name, name));
  throw data_error(fmt::format("{}: '{}' says class '{}', but another file of that sample '{}'",
                               where, path, name, earlier->second.name));
}

std::optional<std::string> SampleClasses::of(const std::string& picture) const {
  const auto found = classes_.find(key_of(picture));
  return found == classes_.end() ? std::nullopt : std::optional(found->second.name);
}

}  // namespace deepvoro
