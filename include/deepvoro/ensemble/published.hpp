#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/ensemble/pool.hpp"

// What the paper's authors published for their data sets.
namespace deepvoro {

enum class Preset {
  mini,    // mini-ImageNet
  cub,     // CUB-200-2011
  tiered,  // tiered-ImageNet
};

[[nodiscard]] DEEPVORO_API Preset preset_named(const std::string& name);
[[nodiscard]] DEEPVORO_API const char* name(Preset preset);

// The members of deepvoro or deepvoro++ with the transformations, b0 and beta published for a data
// set. b0 is given for 1 shot and for 5; any number above 1 takes that of 5.
[[nodiscard]] DEEPVORO_API Pool published_pool(Method method, std::span<const std::string> views,
                                               Preset preset, std::size_t shots);

// The views of the authors' release among those of a store, for every size the store has: its
// unrotated flipped view equals the unflipped one, so that is there twice, and a flip is vertical,
// so the flipped views of other rotations are those that a horizontal flip gives half a turn
// further. A missing view is a data error; `origin` names the store.
[[nodiscard]] DEEPVORO_API std::vector<std::string> release_views(
    const std::vector<std::string>& views, const std::string& origin);

}  // namespace deepvoro
