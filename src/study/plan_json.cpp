#include "study/plan_json.hpp"

#include <limits>

namespace deepvoro {

void add_plan(nlohmann::ordered_json& object, const EpisodePlan& plan) {
  object["ways"] = plan.shape.ways;
  object["shots"] = plan.shape.shots;
  object["queries"] = plan.shape.queries;
  object["episodes"] = plan.count;
  object["seed"] = plan.seed;
  object["protocol"] = name(plan.protocol);
}

EpisodePlan plan_without_shots(const JsonFields& fields) {
  const std::size_t seed = fields.whole("seed", 0);
  if (seed > std::numeric_limits<std::uint32_t>::max()) fields.fail("seed", "is larger than any");
  return {.shape = {.ways = fields.whole("ways", 2), .queries = fields.whole("queries", 1)},
          .protocol = protocol_named(fields.text("protocol")),
          .count = fields.whole("episodes", 1),
          .seed = static_cast<std::uint32_t>(seed)};
}

EpisodePlan plan_of(const JsonFields& fields) {
  EpisodePlan plan = plan_without_shots(fields);
  plan.shape.shots = fields.whole("shots", 1);
  return plan;
}

}  // namespace deepvoro
