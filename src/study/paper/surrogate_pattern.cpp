#include <cmath>

#include "kernels/kernels.hpp"
#include "study/paper/shown_episode.hpp"

namespace deepvoro {
namespace {

void run_surrogate_pattern(const StudyUnit& unit) {
  const ShownEpisode shown(unit);
  std::vector<double> squared(shown.base_classes.size());
  const auto add = [&](const char* role, std::size_t way, std::size_t sample, const double* row) {
    kernels::squared_distances(kernels::active(), row, shown.base_means.row(0),
                               shown.base_means.stride(), shown.base_means.rows(),
                               shown.base_means.stride(), squared.data());
    for (std::size_t c = 0; c < squared.size(); ++c)
      unit.run.table("pattern").add({unit.store.name, unit.shots(), role, shown.classes[way],
                                     sample, shown.base_classes[c], std::sqrt(squared[c])});
  };
  for (std::size_t way = 0; way < shown.shape.ways; ++way) {
    add("support", way, 0, shown.prototypes.row(way));
    for (std::size_t q = 0; q < shown.shape.queries; ++q)
      add("query", way, q, shown.queries.row(way * shown.shape.queries + q));
  }
  unit.run.table("episode").add({unit.store.name, unit.shots(), 0, unit.plan.seed,
                                 unit.store.features.views().front(), shown.preparation,
                                 shown.base_classes.size()});
}

}  // namespace

PaperStudy surrogate_pattern_study() {
  return {.description = {.name = "surrogate-pattern",
                          .title = "Distances of support and queries from the base classes",
                          .paper = "Figure flow, right",
                          .example = "data/quickdraw --out paper"},
          .shots = {1},
          .splits = {"base"},
          .tables = {{"pattern",
                      "Surrogate representations in one episode",
                      {{"store", "store"},
                       {"shots", "shots"},
                       {"row", "prototype of the support, or query"},
                       {"class", "novel class"},
                       {"sample", "which query of the class"},
                       {"base_class", "base class"},
                       {"distance", "distance"}}},
                     {"episode",
                      "The episode",
                      {{"store", "store"},
                       {"shots", "shots"},
                       {"episode", "episode"},
                       {"seed", "seed"},
                       {"view", "view"},
                       {"preparation", "rows"},
                       {"base_classes", "base classes"}}}},
          .run = run_surrogate_pattern};
}

}  // namespace deepvoro
