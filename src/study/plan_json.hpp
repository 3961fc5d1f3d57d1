#pragma once

#include <nlohmann/json.hpp>

#include "ensemble/selection.hpp"
#include "features/json_fields.hpp"

namespace deepvoro {

// Which episodes were drawn, in the keys of every file that says so.
void add_plan(nlohmann::ordered_json& object, const EpisodePlan& plan);
[[nodiscard]] EpisodePlan plan_of(const JsonFields& fields);
// Of a study, which has several numbers of shots.
[[nodiscard]] EpisodePlan plan_without_shots(const JsonFields& fields);

}  // namespace deepvoro
