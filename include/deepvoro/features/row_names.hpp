#pragma once

#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/features/store.hpp"

namespace deepvoro {

// What each row of a split was made from, such as the name of a picture; empty where the store does
// not say. `extract` keeps them in SPLIT/names.txt, a line each.
[[nodiscard]] DEEPVORO_API std::vector<std::string> row_names(const FeatureStore& store,
                                                              const std::string& split);

}  // namespace deepvoro
