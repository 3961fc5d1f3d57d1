#include "shard/difference_of_works.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/json_difference.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using Difference = std::optional<std::string>;

json value_at(const json& work, const char* pointer) {
  const json::json_pointer place(pointer);
  return work.contains(place) ? work.at(place) : json();
}

std::string plain_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// The values of a key in a list of objects, each once: "vd,deepvoro".
std::string values_of_key(const json& list, const char* key) {
  std::vector<std::string> values;
  for (const json& entry : list) {
    const std::string value = plain_text(entry.is_object() ? entry.value(key, json()) : json());
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return fmt::format("{}", fmt::join(values, ","));
}

std::string keys_of(const json& object) {
  std::vector<std::string> keys;
  for (const auto& entry : object.items()) keys.push_back(entry.key());
  return fmt::format("{}", fmt::join(keys, ","));
}

// What others follow from, before them.
Difference difference_of_origin(const json& theirs, const json& ours) {
  for (const char* pointer : {"/command", "/study"})
    if (const json other = value_at(theirs, pointer); other != value_at(ours, pointer)) {
      const std::string key = pointer + 1;
      return first_difference({{key, other}}, {{key, value_at(ours, pointer)}});
    }
  struct Origin {
    const char* pointer;
    const char* words;
  };
  constexpr std::array<Origin, 6> origins{{{"/program", "another version of the program"},
                                           {"/tuning/program", "another version of the program"},
                                           {"/store", "another store"},
                                           {"/tuning/store", "another store"},
                                           {"/stores", "other stores"},
                                           {"/model", "another model"}}};
  for (const auto& [pointer, words] : origins)
    if (value_at(theirs, pointer) != value_at(ours, pointer)) return words;
  return {};
}

Difference difference_of_pictures(const json& theirs, const json& ours) {
  const json their_splits = value_at(theirs, "/splits");
  const json our_splits = value_at(ours, "/splits");
  if (their_splits == our_splits || !their_splits.is_object() || !our_splits.is_object()) return {};
  if (keys_of(their_splits) != keys_of(our_splits))
    return fmt::format("splits {}, not {}", keys_of(their_splits), keys_of(our_splits));
  for (const auto& [split, pictures] : our_splits.items()) {
    const json& other = their_splits.at(split);
    if (other == pictures) continue;
    const json count = value_at(other, "/pictures");
    const json now = value_at(pictures, "/pictures");
    if (count == now) return fmt::format("the pictures of {} have changed since", split);
    return fmt::format("of {} pictures in {}, not {}", plain_text(count), split, plain_text(now));
  }
  return {};
}

Difference difference_of_decoding(const json& theirs, const json& ours) {
  constexpr const char* side = "/preprocessing/fast_decode_side";
  const bool was_fast = !value_at(theirs, side).is_null();
  const bool is_fast = !value_at(ours, side).is_null();
  if (was_fast == is_fast) return {};
  return was_fast ? "with `fast_decode`" : "without `fast_decode`";
}

Difference difference_of_evaluations(const json& theirs, const json& ours) {
  const json their_list = value_at(theirs, "/evaluations");
  const json our_list = value_at(ours, "/evaluations");
  if (their_list == our_list || !their_list.is_array() || !our_list.is_array()) return {};
  for (const char* key : {"method", "shots"}) {
    const std::string was = values_of_key(their_list, key);
    const std::string is = values_of_key(our_list, key);
    if (was != is) return fmt::format("{} {}, not {}", key, was, is);
  }
  if (their_list.size() != our_list.size()) return {};
  constexpr const char* members = "pool_sha256";
  for (std::size_t i = 0; i < our_list.size(); ++i) {
    json other = their_list[i];
    json one = our_list[i];
    for (json* evaluation : {&other, &one})
      if (evaluation->is_object()) evaluation->erase(members);
    if (other != one) return first_difference(other, one);
    if (their_list[i] != our_list[i]) return "other members";
  }
  return {};
}

Difference difference_of_tunings(const json& theirs, const json& ours) {
  for (const char* key : {"method", "shots"}) {
    const json other = value_at(theirs, (std::string("/tuning/") + key).c_str());
    const json one = value_at(ours, (std::string("/tuning/") + key).c_str());
    if (other != one) return fmt::format("{} {}, not {}", key, plain_text(other), plain_text(one));
  }
  return {};
}

}  // namespace

std::string difference_of_works(const json& theirs, const json& ours) {
  if (!theirs.is_object() || !ours.is_object()) return first_difference(theirs, ours);
  for (const auto& difference :
       {difference_of_origin, difference_of_pictures, difference_of_decoding,
        difference_of_evaluations, difference_of_tunings})
    if (const Difference found = difference(theirs, ours)) return *found;
  json their_rest = theirs;
  json our_rest = ours;
  for (json* work : {&their_rest, &our_rest}) work->erase("pieces");
  return first_difference(their_rest, our_rest);
}

}  // namespace deepvoro
