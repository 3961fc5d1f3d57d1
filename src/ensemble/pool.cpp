#include "deepvoro/ensemble/pool.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/files.hpp"
#include "core/json_text.hpp"
#include "core/names.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/ensemble/published.hpp"
#include "features/json_fields.hpp"
#include "pool_json.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array kMethodNames = {"vd",       "power-lr",   "voronoi-lr", "deepvoro--",
                                     "deepvoro", "deepvoro++", "simpleshot", "pt-ncm",
                                     "s2m2",     "dc",         "plda"};

struct GeometryKind {
  std::string_view name;
  std::span<const Parameter> parameters;
  Geometry (*of)(std::span<const double> values);
};

template <class G>
constexpr GeometryKind kind() {
  return {G::kName, G::kParameters,
          [](std::span<const double> values) -> Geometry { return G::of(values); }};
}

// The geometries of pool files.
constexpr std::array kGeometries = {kind<Voronoi>(), kind<Surrogate>(), kind<Plda>()};

std::vector<std::string_view> member_keys() {
  std::vector<std::string_view> keys{"view", "w", "b", "lambda", "signed", "geometry"};
  for (const GeometryKind& geometry : kGeometries)
    for (const Parameter& parameter : geometry.parameters) keys.push_back(parameter.name);
  keys.insert(keys.end(), {"weight", "val_accuracy"});
  return keys;
}

double number_in_range(const JsonFields& fields, const Parameter& parameter) {
  const char* key = parameter.name.data();
  if (parameter.if_absent && !fields.has(key)) return *parameter.if_absent;
  const double value =
      parameter.is_whole
          ? static_cast<double>(fields.whole(key, static_cast<std::size_t>(parameter.least)))
          : fields.number(key);
  if (value < parameter.least)
    fields.fail(key, parameter.least == 0 ? "is negative"
                                          : fmt::format("is smaller than {}", parameter.least));
  if (value > parameter.most) fields.fail(key, fmt::format("is larger than {}", parameter.most));
  return value;
}

Geometry read_geometry(const JsonFields& fields) {
  const std::string name = fields.text("geometry");
  const auto* geometry = std::ranges::find(kGeometries, name, &GeometryKind::name);
  if (geometry == kGeometries.end()) {
    std::vector<std::string> known;
    known.reserve(kGeometries.size());
    for (const GeometryKind& one : kGeometries) known.push_back(fmt::format("\"{}\"", one.name));
    fields.fail("geometry",
                fmt::format("is \"{}\", which is unknown; use {}", name, fmt::join(known, " or ")));
  }
  std::vector<double> values;
  for (const Parameter& parameter : geometry->parameters)
    values.push_back(number_in_range(fields, parameter));
  return geometry->of(values);
}

Member read_member(const json& object, const std::string& where) {
  const JsonFields fields(object, where);
  if (fields.has("head"))
    throw data_error(fmt::format(
        "{}: is the head {}, which cannot be a member of an ensemble; run it with `method`", where,
        object["head"].dump(-1, ' ', false, json::error_handler_t::replace)));
  const std::vector<std::string_view> keys = member_keys();
  for (const auto& [key, unused] : object.items())
    if (std::ranges::find(keys, key) == keys.end())
      throw data_error(
          fmt::format("{}: \"{}\" is unknown; a member has {}", where, key, fmt::join(keys, ", ")));
  Member member{.view = fields.text("view"),
                .transform = {fields.number("w"), fields.number("b"), fields.number("lambda"),
                              fields.flag("signed")},
                .geometry = read_geometry(fields),
                .weight = number_in_range(fields, {.name = "weight", .if_absent = 1})};
  if (member.weight == 0) fields.fail("weight", "is 0; leave the member out instead");
  (void)number_in_range(fields, {.name = "val_accuracy", .if_absent = 0});
  return member;
}

// Whole numbers are written without a decimal point where the contract shows them so.
ordered_json plain(double value) {
  if (value == 0) return 0;
  return value;
}

}  // namespace

std::string Member::id() const {
  return fmt::format("{}_{}_{}{}", view, transform.id(), geometry.id(),
                     weight == 1 ? "" : fmt::format("_weight{}", weight));
}

Pool picked(const Pool& pool, std::span<const std::size_t> which) {
  Pool members;
  for (const std::size_t i : which) members.push_back(pool.at(i));
  return members;
}

Method method_named(const std::string& name) {
  return value_named<Method>(name, kMethodNames, "`method` {}: unknown; use {}");
}

const char* name(Method method) {
  return name_of(method, kMethodNames);
}

bool is_ensemble(Method method) {
  return method == Method::vd || method == Method::deepvoro ||
         method == Method::deepvoro_plus_plus || method == Method::plda;
}

Pool default_pool(Method method, std::span<const std::string> views) {
  Pool pool;
  switch (method) {
    case Method::vd:
      pool.push_back({views.front(), {.lambda = 0.5}, Voronoi{}});
      break;
    case Method::deepvoro:
    case Method::deepvoro_plus_plus:
      return published_pool(method, views, Preset::mini, 1);
    case Method::plda:
      for (const std::string& view : views) pool.push_back({view, {.lambda = 0.5}, Plda{}});
      break;
    default:
      throw internal_error(fmt::format("method {} has no members", name(method)));
  }
  return pool;
}

Pool read_pool(const std::filesystem::path& file) {
  const std::string where = file.string();
  const json document = read_json(file);
  const json format = document.is_object() ? document.value("format", json()) : json();
  if (format != "deepvoro-pool" && format != "deepvoro-result")
    throw data_error(fmt::format(
        "{}: \"format\" must be \"deepvoro-pool\" or that of a single \"deepvoro-result\"", where));
  if (document.value("version", json()) != 1)
    throw data_error(
        fmt::format("{}: \"version\" must be 1, the only one this program reads", where));
  // A result names the members it came from, and so can be run again.
  const char* key = format == "deepvoro-pool" ? "members" : "pool";
  const json members = document.value(key, json());
  if (!members.is_array() || members.empty())
    throw data_error(fmt::format("{}: \"{}\" must be a list of at least one member", where, key));
  return pool_of(members, where);
}

Pool pool_of(const json& members, const std::string& where) {
  Pool pool;
  for (std::size_t i = 0; i < members.size(); ++i)
    pool.push_back(read_member(members[i], fmt::format("{}: member {}", where, i)));
  return pool;
}

std::optional<std::size_t> tuned_shots(const std::filesystem::path& file) {
  const json document = read_json(file);
  const json tuning = document.is_object() ? document.value("tuning", json()) : json();
  const json shots = tuning.is_object() ? tuning.value("shots", json()) : json();
  if (!shots.is_number_unsigned()) return {};
  return shots.get<std::size_t>();
}

ordered_json to_json(const Pool& pool) {
  ordered_json members = ordered_json::array();
  for (const Member& member : pool) {
    ordered_json object = {{"view", member.view},
                           {"w", member.transform.w},
                           {"b", member.transform.b},
                           {"lambda", plain(member.transform.lambda)}};
    if (member.transform.is_signed) object["signed"] = true;
    object["geometry"] = member.geometry.name();
    const std::vector<double> values = member.geometry.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Parameter& parameter = member.geometry.parameters()[i];
      ordered_json& value = object[std::string(parameter.name)];
      if (parameter.is_whole)
        value = static_cast<std::size_t>(values[i]);
      else
        value = values[i];
    }
    if (member.weight != 1) object["weight"] = member.weight;
    members.push_back(std::move(object));
  }
  return members;
}

std::string members_json(const Pool& pool) {
  return to_json(pool).dump();
}

Pool pool_from_json(std::string_view members, const std::string& where) {
  return pool_of(parse_json(members), where);
}

void write_pool(const Pool& pool, const std::filesystem::path& file) {
  const ordered_json document = {
      {"format", "deepvoro-pool"}, {"version", 1}, {"members", to_json(pool)}};
  AtomicFile out(file);
  out.write(json_text(document));
  out.commit();
}

}  // namespace deepvoro
