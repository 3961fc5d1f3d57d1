#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "deepvoro/classifier/backbone_statistics.hpp"
#include "features/formats/number_array.hpp"

// Statistics as they stand in files: a description, and one array of float16.
namespace deepvoro {

[[nodiscard]] nlohmann::ordered_json describe(const BackboneStatistics& statistics);

// [dim + 2 x dim]: mean, psi, and the axes.
[[nodiscard]] std::vector<float> packed(const BackboneStatistics& statistics);

// What was described and packed. `where` names the place in errors.
[[nodiscard]] BackboneStatistics statistics_of(const nlohmann::json& description,
                                               const NumberArray& array, const std::string& where);

}  // namespace deepvoro
