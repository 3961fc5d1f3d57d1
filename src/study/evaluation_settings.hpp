#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "deepvoro/study/evaluate.hpp"

namespace deepvoro {

// All that the answers of an evaluation depend on, besides its store. Of the members there is a
// hash: `pool` are those it chooses from.
[[nodiscard]] nlohmann::json settings_of(const Evaluation& request, const Pool& pool);

// The request again, without what makes members. Errors begin with `where`.
[[nodiscard]] Evaluation request_of(const nlohmann::json& settings, const std::string& where);

}  // namespace deepvoro
