#pragma once

#include <nlohmann/json_fwd.hpp>

#include "deepvoro/ensemble/pool.hpp"

namespace deepvoro {

// The list of members as it stands in pool and result files.
[[nodiscard]] nlohmann::ordered_json to_json(const Pool& pool);
// Members of a list that is not empty. Errors begin with `where`.
[[nodiscard]] Pool pool_of(const nlohmann::json& members, const std::string& where);

}  // namespace deepvoro
