#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace deepvoro {

// The first thing in which a document is not `ours`: "seed 1, not 0", or "another views" where
// values are too long to be shown.
[[nodiscard]] std::string first_difference(const nlohmann::json& theirs,
                                           const nlohmann::json& ours);

}  // namespace deepvoro
