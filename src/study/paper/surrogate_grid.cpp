#include <algorithm>

#include "deepvoro/study/tune.hpp"
#include "study/paper/measured.hpp"

namespace deepvoro {
namespace {

// The transformations that tuning chose, each once.
std::vector<Transform> transforms_in(const Pool& members) {
  std::vector<Transform> transforms;
  for (const Member& member : members)
    if (std::ranges::find(transforms, member.transform) == transforms.end())
      transforms.push_back(member.transform);
  return transforms;
}

void run_surrogate_grid(const StudyUnit& unit) {
  const TuningGrid grid;
  const TunedPool tuned = tuned_pool(unit, Method::deepvoro_plus_plus, 0.6);
  Pool members;
  for (const Transform& transform : transforms_in(tuned.members))
    for (const std::size_t R : grid.neighbours)
      for (const double beta : grid.betas)
        members.push_back(
            {unit.store.features.views().front(), transform, Surrogate{.R = R, .beta = beta}});
  const std::vector<double> val = member_accuracy(unit, "val", members, 0.2);
  const std::vector<double> novel = member_accuracy(unit, "novel", members, 0.2);
  const auto add = [&](const char* table, std::size_t i) {
    const auto& surrogate = members[i].geometry.known_as<Surrogate>();
    unit.run.table(table).add({unit.store.name, unit.shots(), members[i].transform.lambda,
                               members[i].transform.b, surrogate.R, surrogate.beta, val[i],
                               novel[i]});
  };
  for (std::size_t i = 0; i < members.size(); ++i) add("grid", i);
  for (std::size_t first = 0; first < members.size(); first += grid.betas.size()) {
    const auto same_count = std::span(val).subspan(first, grid.betas.size());
    add("chosen", first + static_cast<std::size_t>(std::ranges::max_element(same_count) -
                                                   same_count.begin()));
  }
}

std::vector<StudyColumn> grid_columns() {
  return {{"store", "store"},
          {"shots", "shots"},
          {"lambda", "λ"},
          {"b", "b"},
          {"R", "R"},
          {"beta", "β"},
          {"val", "accuracy on val", "%"},
          {"novel", "accuracy on novel", "%"}};
}

}  // namespace

PaperStudy surrogate_grid_study() {
  return {.description = {.name = "surrogate-grid",
                          .title = "Neighbours and weight of the surrogate representation",
                          .paper = "Figures heat_mini, heat_cub, heat_tie",
                          .example = "data/quickdraw --out paper"},
          .shots = {1},
          .splits = {"val", "base"},
          .tables = {{"grid", "One member of the first view for each pair", grid_columns()},
                     {"chosen", "The best β on val for each R", grid_columns()}},
          .run = run_surrogate_grid};
}

}  // namespace deepvoro
