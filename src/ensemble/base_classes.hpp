#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <vector>

#include "deepvoro/core/error.hpp"
#include "deepvoro/features/store.hpp"

namespace deepvoro {

// The rows of each base class; a class without any is a data error.
[[nodiscard]] inline std::vector<std::vector<std::size_t>> base_classes(const FeatureStore& store) {
  std::vector<std::vector<std::size_t>> rows = store.rows_by_class("base");
  for (std::size_t c = 0; c < rows.size(); ++c)
    if (rows[c].empty())
      throw data_error(
          fmt::format("{}: class '{}' of split base has no samples, so it has no "
                      "prototype; remove it from store.json",
                      store.folder().string(), store.split("base").classes[c]));
  return rows;
}

}  // namespace deepvoro
