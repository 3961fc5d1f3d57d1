#include "ensemble/head_evaluation.hpp"
#include "study/paper/measured.hpp"

namespace deepvoro {
namespace {

struct JointMethod {
  const char* name;
  Method method;
  LogisticKind kind = LogisticKind::voronoi;
  double share = 0;
};

constexpr JointMethod kJointMethods[] = {
    {"s2m2", Method::s2m2, {}, 0.1},
    {"dc", Method::dc, {}, 0.5},
    {"power-lr", Method::power_lr, {}, 0.05},
    {"voronoi-lr", Method::voronoi_lr, {}, 0.05},
    {"vd", Method::vd, {}, 0.02},
    {"vd+power-lr", Method::deepvoro_minus_minus, LogisticKind::power, 0.05},
    {"vd+voronoi-lr", Method::deepvoro_minus_minus, LogisticKind::voronoi, 0.05},
};

// As the authors' release trains logistic regression, of which the paper says nothing.
LogisticOptions release_training() {
  return {.weight_decay = 0.01, .start = LogisticStart::random, .sigmoid = true};
}

void run_joint(const StudyUnit& unit) {
  const auto add = [&](const char* table, const JointMethod& row, LogisticOptions logistic) {
    Evaluation request = usual_evaluation(unit, row.method);
    logistic.kind = row.kind;
    request.logistic = logistic;
    const Estimate accuracy = measured(unit, request, row.share).accuracy();
    unit.run.table(table).add(
        {unit.store.name, unit.shots(), row.name, accuracy.mean, accuracy.ci95});
  };
  for (const JointMethod& row : kJointMethods) add("joint", row, {});
  for (const JointMethod& row : kJointMethods)
    if (has_logistic(row.method)) add("release", row, release_training());
}

std::vector<StudyColumn> joint_columns() {
  return {{"store", "store"},
          {"shots", "shots"},
          {"method", "method"},
          {"accuracy", "accuracy", "%"},
          {"ci95", "95 % interval, half", "%"}};
}

}  // namespace

PaperStudy joint_study() {
  return {.description = {.name = "joint",
                          .title = "Nearest prototype and logistic regression in one diagram",
                          .paper = "Table joint",
                          .example = "data/quickdraw --out paper"},
          .shots = {1, 5},
          .splits = {"base"},
          .tables = {{"joint", "One view, on the same episodes", joint_columns()},
                     {"release",
                      "Trained as in the authors' release: from random weights, with weight decay "
                      "0.01 and a sigmoid before the softmax",
                      joint_columns()}},
          .run = run_joint};
}

}  // namespace deepvoro
