#include <algorithm>
#include <numeric>

#include "deepvoro/study/tune.hpp"
#include "study/paper/line_fit.hpp"
#include "study/paper/measured.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void add_members_of(const StudyUnit& unit, Method method, double share) {
  const TunedPool pool = tuned_pool(unit, method, 0.8 * share);
  const std::vector<double> val = member_accuracy(unit, "val", pool.members, 0.1 * share);
  const std::vector<double> novel = member_accuracy(unit, "novel", pool.members, 0.1 * share);
  for (std::size_t i = 0; i < pool.members.size(); ++i) {
    const Member& member = pool.members[i];
    const auto* surrogate = member.geometry.as<Surrogate>();
    unit.run.table("members").add({unit.store.name, unit.shots(), name(method), member.id(),
                                   member.view, member.transform.lambda, member.transform.b,
                                   surrogate == nullptr ? json() : json(surrogate->R),
                                   surrogate == nullptr ? json() : json(surrogate->beta), val[i],
                                   novel[i]});
  }
  unit.run.table("correlation")
      .add({unit.store.name, unit.shots(), name(method), fit_line(val, novel).r,
            pool.members.size()});
  const auto best = static_cast<std::size_t>(std::ranges::max_element(val) - val.begin());
  unit.run.table("summary").add({unit.store.name, unit.shots(), name(method), mean_of(val),
                                 mean_of(novel), pool.members[best].id(), val[best], novel[best],
                                 std::ranges::max(novel)});
}

// More of them than tuning tries: what is drawn are curves.
void add_transformations(const StudyUnit& unit) {
  constexpr double lambdas[] = {0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1, 1.25, 1.5, 2};
  const std::string& view = unit.store.features.views().front();
  Pool members;
  const auto add = [&](double lambda, double b) {
    members.push_back(
        {view, {.b = b, .lambda = lambda, .is_signed = unit.run.is_signed()}, Voronoi{}});
  };
  for (const double lambda : lambdas) add(lambda, 0);
  for (const double b : TuningGrid().biases) add(0, b);
  const std::vector<Measured> on_val = measured_alone(unit, "val", members, 0.1);
  const std::vector<Measured> on_novel = measured_alone(unit, "novel", members, 0.1);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Estimate val = on_val[i].accuracy();
    const Estimate novel = on_novel[i].accuracy();
    unit.run.table("transformations")
        .add({unit.store.name, unit.shots(), members[i].transform.lambda, members[i].transform.b,
              val.mean, val.ci95, novel.mean, novel.ci95});
  }
}

void run_members(const StudyUnit& unit) {
  add_members_of(unit, Method::deepvoro, 0.3);
  add_members_of(unit, Method::deepvoro_plus_plus, 0.5);
  add_transformations(unit);
}

}  // namespace

PaperStudy members_study() {
  const StudyColumn store{"store", "store"};
  const StudyColumn shots{"shots", "shots"};
  const StudyColumn method{"method", "method"};
  const StudyColumn val{"val", "accuracy on val", "%"};
  const StudyColumn novel{"novel", "accuracy on novel", "%"};
  return {.description = {.name = "members",
                          .title = "Members by themselves on val and novel",
                          .paper = "Figures beta, beta2 and ens-*, parts a to c",
                          .example = "data/quickdraw --out paper"},
          .shots = {1, 5},
          .splits = {"val", "base"},
          .tables = {{"members",
                      "Every member by itself",
                      {store,
                       shots,
                       method,
                       {"member", "member"},
                       {"view", "view"},
                       {"lambda", "λ"},
                       {"b", "b"},
                       {"R", "R"},
                       {"beta", "β"},
                       val,
                       novel}},
                     {"correlation",
                      "Correlation of accuracies on val and novel over the members",
                      {store, shots, method, {"r", "r"}, {"members", "members"}}},
                     {"transformations",
                      "Nearest prototype of the first view after each transformation",
                      {store,
                       shots,
                       {"lambda", "λ"},
                       {"b", "b"},
                       val,
                       {"val_ci95", "95 % interval on val, half", "%"},
                       novel,
                       {"novel_ci95", "95 % interval on novel, half", "%"}}},
                     {"summary",
                      "Members by themselves, in short",
                      {store,
                       shots,
                       method,
                       {"mean_val", "mean, val", "%"},
                       {"mean_novel", "mean, novel", "%"},
                       {"best_val_member", "best on val"},
                       {"best_val", "its val", "%"},
                       {"its_novel", "its novel", "%"},
                       {"best_novel", "oracle, novel", "%"}}}},
          .run = run_members};
}

}  // namespace deepvoro
