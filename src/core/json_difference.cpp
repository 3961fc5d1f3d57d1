#include "core/json_difference.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <nlohmann/json.hpp>

namespace deepvoro {
namespace {

using nlohmann::json;

std::string difference_of_values(const std::string& name, const json& theirs, const json& ours) {
  constexpr std::size_t short_enough = 40;
  const std::string is = theirs.dump();
  const std::string should_be = ours.dump();
  if (is.size() + should_be.size() > short_enough)
    return fmt::format("its {} {}", name, name.ends_with('s') ? "differ" : "differs");
  return fmt::format("{} {}, not {}", name, is, should_be);
}

std::string difference_below(const std::string& name, const json& theirs, const json& ours) {
  if (theirs.is_object() && ours.is_object()) {
    for (const auto& [key, value] : ours.items()) {
      const json other = theirs.value(key, json());
      if (other != value)
        return difference_below(name.empty() ? key : name + "." + key, other, value);
    }
    return name.empty() ? "other options" : "other options of " + name;
  }
  const bool are_lists_of_objects = theirs.is_array() && ours.is_array() && !ours.empty() &&
                                    theirs.size() == ours.size() && ours.front().is_object();
  if (are_lists_of_objects)
    for (std::size_t i = 0; i < ours.size(); ++i)
      if (theirs[i] != ours[i]) return difference_below(name, theirs[i], ours[i]);
  return difference_of_values(name, theirs, ours);
}

}  // namespace

std::string first_difference(const json& theirs, const json& ours) {
  return difference_below("", theirs, ours);
}

}  // namespace deepvoro
