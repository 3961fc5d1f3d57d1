#include "study/paper/measured.hpp"

namespace deepvoro {
namespace {

void run_shots(const StudyUnit& unit) {
  constexpr Method methods[] = {Method::vd, Method::deepvoro, Method::deepvoro_plus_plus,
                                Method::plda};
  for (const Method method : methods) {
    const Measured result =
        measured(unit, usual_evaluation(unit, method), 1.0 / std::size(methods));
    const Estimate accuracy = result.accuracy();
    unit.run.table("shots").add({unit.store.name, name(method), unit.shots(), result.members,
                                 accuracy.mean, accuracy.ci95});
  }
}

}  // namespace

PaperStudy shots_study() {
  return {.description = {.name = "shots",
                          .title = "Accuracy over the number of shots",
                          .paper = "Figure number",
                          .example = "data/quickdraw --out paper"},
          .shots = {1, 2, 3, 5, 10, 20, 50, 100, 200, 400},
          .splits = {"base"},
          .tables = {{"shots",
                      "Methods with their own members, as many shots as the smallest class allows",
                      {{"store", "store"},
                       {"method", "method"},
                       {"shots", "shots"},
                       {"members", "members"},
                       {"accuracy", "accuracy", "%"},
                       {"ci95", "95 % interval, half", "%"}}}},
          .run = run_shots};
}

}  // namespace deepvoro
