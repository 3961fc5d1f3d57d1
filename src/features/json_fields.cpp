#include "json_fields.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "deepvoro/core/error.hpp"

namespace deepvoro {

using nlohmann::json;

JsonFields::JsonFields(const json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) throw data_error(where_ + ": is not an object");
}

bool JsonFields::has(const char* key) const {
  return object_.contains(key);
}

std::string JsonFields::text(const char* key) const {
  const auto found = object_.find(key);
  if (found == object_.end() || !found->is_string()) fail(key, "is missing or not a string");
  return *found;
}

double JsonFields::number(const char* key) const {
  const auto found = object_.find(key);
  if (found == object_.end() || !found->is_number()) fail(key, "is missing or not a number");
  const double value = *found;
  if (!std::isfinite(value)) fail(key, "is not finite");
  return value;
}

std::size_t JsonFields::whole(const char* key, std::size_t least) const {
  const auto found = object_.find(key);
  if (found == object_.end() || !found->is_number_unsigned() || *found < least)
    fail(key, fmt::format("is missing or not a whole number of at least {}", least));
  return *found;
}

bool JsonFields::flag(const char* key) const {
  const auto found = object_.find(key);
  if (found == object_.end()) return false;
  if (!found->is_boolean()) fail(key, "must be true or false");
  return *found;
}

const json& JsonFields::list(const char* key) const {
  const auto found = object_.find(key);
  if (found == object_.end() || !found->is_array() || found->empty())
    fail(key, "is missing or not a list of at least one");
  return *found;
}

JsonFields JsonFields::object(const char* key) const {
  const auto found = object_.find(key);
  if (found == object_.end() || !found->is_object()) fail(key, "is missing or not an object");
  return {*found, fmt::format("{}: \"{}\"", where_, key)};
}

void JsonFields::fail(const char* key, const std::string& what) const {
  throw data_error(fmt::format("{}: \"{}\" {}", where_, key, what));
}

}  // namespace deepvoro
