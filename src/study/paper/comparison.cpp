#include <fmt/format.h>

#include <algorithm>

#include "deepvoro/episodes/significance.hpp"
#include "study/paper/measured.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

// Paired, against the baseline that did better on these episodes.
json p_value(const Measured& result, const Measured& baseline) {
  std::vector<double> differences = result.episode_accuracy();
  std::ranges::transform(differences, baseline.episode_accuracy(), differences.begin(),
                         std::minus{});
  const std::optional<TTest> test = t_test(differences);
  return test ? json(test->p) : json();
}

void run_comparison(const StudyUnit& unit) {
  StudyTable& table = unit.run.table("table");
  const auto add = [&](const char* method, const char* scheme, const Measured& result, json p) {
    const Estimate accuracy = result.accuracy();
    table.add({unit.store.name, method, unit.shots(), scheme, result.members, accuracy.mean,
               accuracy.ci95, std::move(p)});
  };
  const Measured dc = measured(unit, usual_evaluation(unit, Method::dc), 0.5);
  const Measured s2m2 = measured(unit, usual_evaluation(unit, Method::s2m2), 0.1);
  const Measured& better = dc.accuracy().mean >= s2m2.accuracy().mean ? dc : s2m2;
  add("dc", "none", dc, json());
  add("s2m2_r", "none", s2m2, json());
  const bool has_val = unit.store.features.has_split("val");
  for (const Method method : {Method::deepvoro, Method::deepvoro_plus_plus, Method::plda}) {
    const Measured result =
        has_val
            ? measured(unit, guided_evaluation(unit, method, tuned_pool(unit, method, 0.1)), 0.03)
            : measured(unit, usual_evaluation(unit, method), 0.13);
    add(name(method), has_val ? "guided" : "full", result, p_value(result, better));
  }
}

PaperStudy comparison_of(StudyDescription description) {
  return {
      .description = description,
      .shots = {1, 5},
      .splits = {"base"},
      .tables = {{"table",
                  "Methods on the same episodes; members tuned and chosen on val, or all of the "
                  "usual ones where a store has no val",
                  {{"store", "store"},
                   {"method", "method"},
                   {"shots", "shots"},
                   {"scheme", "scheme"},
                   {"members", "members that take part"},
                   {"accuracy", "accuracy", "%"},
                   {"ci95", "95 % interval, half", "%"},
                   {"p_vs_best_baseline", "p against the better of dc and s2m2_r"}}}},
      .run = run_comparison};
}

}  // namespace

PaperStudy backbones_study() {
  return comparison_of({.name = "backbones",
                        .title = "Methods on the features of different networks",
                        .paper = "Table backbone, and the last rows of Table main",
                        .example = "wrn28-10 resnet18 conv4 --out paper"});
}

PaperStudy procedures_study() {
  return comparison_of({.name = "procedures",
                        .title = "Methods on the features of differently trained networks",
                        .paper = "Table precursor",
                        .example = "rotation mixup --out paper"});
}

PaperStudy cross_domain_study() {
  return comparison_of({.name = "cross-domain",
                        .title = "Methods on classes of another domain than the network's",
                        .paper = "Table cross",
                        .example = "birds-to-objects objects-to-birds --out paper"});
}

}  // namespace deepvoro
