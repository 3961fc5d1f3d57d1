#include "deepvoro/ensemble/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/names.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/features/transform.hpp"

namespace deepvoro {
namespace {

constexpr std::array kPresetNames = {"mini", "cub", "tiered"};

struct Published {
  double b0_of_one_shot;
  double power;                 // of deepvoro++: this lambda, and
  double bias_of_logarithm;     // a logarithm
  std::array<double, 10> beta;  // for R = 1..10
};

constexpr double kB0OfMoreShots = 0.02;
constexpr std::array kPublished = {
    Published{0.02, 0.75, 0.08, {7, 5.5, 4.5, 4, 4, 3.5, 3.5, 3, 3, 3}},
    Published{0.5, 1, 1, {7, 6, 3.5, 3, 3, 3, 3, 2, 2.5, 2}},
    Published{0.1, 0.75, 0.3, {4, 4, 5, 6, 6, 6, 7, 7, 7, 7}}};

// Rotations and flips of one size, in the order of the release's own names.
constexpr std::array kReleaseViews = {"_r0_f0",   "_r0_f0", "_r90_f0",  "_r270_f1",
                                      "_r180_f0", "_r0_f1", "_r270_f0", "_r90_f1"};

}  // namespace

Preset preset_named(const std::string& name) {
  return value_named<Preset>(name, kPresetNames, "`preset` {}: unknown; use mini, cub or tiered");
}

const char* name(Preset preset) {
  return name_of(preset, kPresetNames);
}

Pool published_pool(Method method, std::span<const std::string> views, Preset preset,
                    std::size_t shots) {
  const Published& values = kPublished[static_cast<std::size_t>(preset)];
  Pool pool;
  for (const std::string& view : views) {
    if (method == Method::deepvoro) {
      for (const Transform& transform :
           eight_transforms(shots == 1 ? values.b0_of_one_shot : kB0OfMoreShots))
        pool.push_back({view, transform, Voronoi{}});
    } else if (method == Method::deepvoro_plus_plus) {
      for (const Transform& transform : {Transform{.lambda = values.power},
                                         Transform{.b = values.bias_of_logarithm, .lambda = 0}})
        for (std::size_t R = 1; R <= values.beta.size(); ++R)
          pool.push_back({view, transform, Surrogate{.R = R, .beta = values.beta[R - 1]}});
    } else {
      throw usage_error(fmt::format("`preset` {}: nothing was published for method {}",
                                    name(preset), name(method)));
    }
  }
  return pool;
}

std::vector<std::string> release_views(const std::vector<std::string>& views,
                                       const std::string& origin) {
  const std::string upright = kReleaseViews.front();
  std::vector<std::string> found;
  for (const std::string& view : views) {
    if (!view.ends_with(upright)) continue;
    const std::string size = view.substr(0, view.size() - upright.size());
    for (const char* turned : kReleaseViews) {
      found.push_back(size + turned);
      if (std::ranges::find(views, found.back()) == views.end())
        throw data_error(fmt::format(
            "{}: has no view '{}', which the release has; extract all turns of a size, or do "
            "without `views` release",
            origin, found.back()));
    }
  }
  if (found.empty())
    throw data_error(
        fmt::format("{}: has no view that ends in {}, so none of the release; do without `views` "
                    "release",
                    origin, upright));
  return found;
}

}  // namespace deepvoro
