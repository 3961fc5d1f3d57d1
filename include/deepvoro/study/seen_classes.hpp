#pragma once

#include <optional>
#include <string>

#include "deepvoro/core/export.hpp"
#include "deepvoro/features/store.hpp"

namespace deepvoro {

// A warning where the network behind a store was trained on ImageNet and the split is a part of
// ImageNet: classes named by WordNet ids such as n01532829, or a folder that says so.
[[nodiscard]] DEEPVORO_API std::optional<std::string> warning_of_seen_classes(
    const FeatureStore& store, const std::string& split);

}  // namespace deepvoro
