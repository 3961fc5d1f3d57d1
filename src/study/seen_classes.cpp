#include "deepvoro/study/seen_classes.hpp"
#include "core/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace deepvoro {
namespace {

using nlohmann::json;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_wordnet_id(std::string_view name) {
  constexpr std::size_t length = 9;
  return name.size() == length && name.front() == 'n' &&
         std::ranges::all_of(name.substr(1), is_digit);
}

bool names_imagenet(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text.find("imagenet") != std::string::npos;
}

std::string text_of(const json& object, const char* key) {
  const json value = object.is_object() ? object.value(key, json()) : json();
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace

std::optional<std::string> warning_of_seen_classes(const FeatureStore& store,
                                                   const std::string& split) {
  const json provenance = parse_json(store.provenance_json());
  const json backbone = provenance.is_object() ? provenance.value("backbone", json()) : json();
  if (!names_imagenet(text_of(backbone, "trained_on")) || !store.has_split(split))
    return std::nullopt;
  if (!std::ranges::any_of(store.split(split).classes, is_wordnet_id) &&
      !names_imagenet(store.folder().string()))
    return std::nullopt;
  return fmt::format(
      "warning: the backbone {} was trained on ImageNet and has seen the classes of {}, so this is "
      "not a few-shot accuracy",
      text_of(backbone, "name"), store.folder().string());
}

}  // namespace deepvoro
