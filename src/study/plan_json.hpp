#pragma once

#include <nlohmann/json.hpp>

#include "ensemble/selection.hpp"

namespace deepvoro {

// Which episodes were drawn, in the keys of every file that says so.
inline void add_plan(nlohmann::ordered_json& object, const EpisodePlan& plan) {
  object["ways"] = plan.shape.ways;
  object["shots"] = plan.shape.shots;
  object["queries"] = plan.shape.queries;
  object["episodes"] = plan.count;
  object["seed"] = plan.seed;
  object["protocol"] = name(plan.protocol);
}

}  // namespace deepvoro
