#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/features/store.hpp"
#include "deepvoro/features/transform.hpp"
#include "deepvoro/geometry/geometry.hpp"
#include "deepvoro/geometry/plda.hpp"
#include "deepvoro/geometry/surrogate.hpp"

namespace deepvoro {

// One member of an ensemble: which view, transformed how, measured by which geometry. Its distances
// count `weight` times.
struct DEEPVORO_API Member {
  std::string view;
  Transform transform;
  Geometry geometry;
  double weight = 1;

  bool operator==(const Member&) const = default;
  // Whether both measure distances between the same points.
  [[nodiscard]] bool shares_points_with(const Member& other) const {
    return view == other.view && transform == other.transform &&
           geometry.shares_space_with(other.geometry);
  }
  [[nodiscard]] std::string id() const;
};

using Pool = std::vector<Member>;

// Some members of a pool, in the order of their indices in `which`.
[[nodiscard]] DEEPVORO_API Pool picked(const Pool& pool, std::span<const std::size_t> which);

enum class Method {
  vd,
  power_lr,
  voronoi_lr,
  deepvoro_minus_minus,
  deepvoro,
  deepvoro_plus_plus,
  simpleshot,
  pt_ncm,
  s2m2,
  dc,
  plda,
};

[[nodiscard]] DEEPVORO_API Method method_named(const std::string& name);
[[nodiscard]] DEEPVORO_API const char* name(Method method);

// Whether a method adds up members of a pool; the others fit one head on one view.
[[nodiscard]] DEEPVORO_API bool is_ensemble(Method method);

// The members an ensemble method has on these views when no pool file is given.
[[nodiscard]] DEEPVORO_API Pool default_pool(Method method, std::span<const std::string> views);
[[nodiscard]] inline Pool default_pool(Method method, const FeatureStore& store) {
  return default_pool(method, store.views());
}

// Pool files are JSON: {"format":"deepvoro-pool","version":1,"members":[...]}. A result file can be
// read as the pool of the members it came from.
[[nodiscard]] DEEPVORO_API Pool read_pool(const std::filesystem::path& file);

// The number of shots a pool file was tuned with, where it says so.
[[nodiscard]] DEEPVORO_API std::optional<std::size_t> tuned_shots(
    const std::filesystem::path& file);

DEEPVORO_API void write_pool(const Pool& pool, const std::filesystem::path& file);

// The list "members" of a pool file alone, as text. Errors begin with `where`.
[[nodiscard]] DEEPVORO_API std::string members_json(const Pool& pool);
[[nodiscard]] DEEPVORO_API Pool pool_from_json(std::string_view members, const std::string& where);

}  // namespace deepvoro
