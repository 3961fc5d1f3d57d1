#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "deepvoro/study/tune.hpp"

namespace deepvoro {

// The pool file of a tuning, with what was tried. `tuning`: the request, described.
[[nodiscard]] std::string pool_file_text(const TuningResult& result, nlohmann::ordered_json tuning,
                                         const std::string& store_path);

}  // namespace deepvoro
