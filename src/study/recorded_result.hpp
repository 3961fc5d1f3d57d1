#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "deepvoro/study/compare.hpp"

namespace deepvoro {

// One result of a file. Throws a data error that begins with `where`.
[[nodiscard]] RecordedResult recorded_result(const nlohmann::json& object, const std::string& file,
                                             const std::string& where);

}  // namespace deepvoro
