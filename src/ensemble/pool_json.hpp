#pragma once

#include <nlohmann/json.hpp>

#include "deepvoro/ensemble/pool.hpp"

namespace deepvoro {

// The list of members as it stands in pool and result files.
[[nodiscard]] nlohmann::ordered_json to_json(const Pool& pool);

}  // namespace deepvoro
