#include "core/stopwatch.hpp"
#include "ensemble/ensemble.hpp"
#include "study/paper/measured.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

// A row of the paper's table; members of 0 are all that the method has on the store.
struct TimedMethod {
  const char* name;
  Method method;
  std::size_t members;
  std::size_t paper_members;
  double paper_minutes;  // 0: none
  double share;
};

constexpr TimedMethod kTimedMethods[] = {
    {"dc", Method::dc, 1, 1, 88.29, 0.7},
    {"s2m2_r", Method::s2m2, 1, 1, 33.89, 0.2},
    {"deepvoro", Method::deepvoro, 1, 1, 0.05, 0.01},
    {"deepvoro", Method::deepvoro, 0, 512, 25.67, 0.02},
    {"deepvoro++", Method::deepvoro_plus_plus, 1, 1, 0.14, 0.01},
    {"deepvoro++", Method::deepvoro_plus_plus, 0, 1280, 179.05, 0.03},
    {"plda", Method::plda, 0, 0, 0, 0.03},
};

// From drawing episodes to the accuracy of each, everything that is read included.
double seconds_of_members(const StudyUnit& unit, const Pool& members, const Progress& progress) {
  const Stopwatch watch;
  const EpisodeList episodes = draw_episodes(unit.store.features, "novel", unit.plan);
  const EpisodeSetting setting{unit.store.features, "novel", episodes, Influence(1),
                               unit.run.threads()};
  (void)evaluate_ensemble(setting, Selection::full(members), {}, progress);
  return watch.seconds();
}

double seconds_of_head(const StudyUnit& unit, Method method, const Progress& progress) {
  const Stopwatch watch;
  (void)evaluate(unit.store.features, usual_evaluation(unit, method), {}, progress);
  return watch.seconds();
}

void run_time(const StudyUnit& unit) {
  for (const TimedMethod& row : kTimedMethods) {
    Pool members;
    if (is_ensemble(row.method)) members = default_pool(row.method, unit.store.features);
    if (is_ensemble(row.method) && row.members > 0) members.resize(row.members);
    for (Member& member : members) member.transform.is_signed = unit.run.is_signed();
    const auto compute = [&](const Progress& progress) -> json {
      return members.empty() ? seconds_of_head(unit, row.method, progress)
                             : seconds_of_members(unit, members, progress);
    };
    const json what = {
        {"time", row.name}, {"members", study_key(unit, members)}, {"threads", unit.run.threads()}};
    const json seconds = unit.run.step(unit.store, what, row.share, compute,
                                       [](const json& value) { return value.is_number(); });
    unit.run.table("time").add({unit.store.name, row.name,
                                members.empty() ? std::size_t{1} : members.size(), unit.shots(),
                                seconds, unit.plan.count, unit.run.threads(),
                                row.paper_minutes > 0 ? json(row.paper_members) : json(),
                                row.paper_minutes > 0 ? json(row.paper_minutes) : json()});
  }
}

}  // namespace

PaperStudy time_study() {
  return {.description = {.name = "time",
                          .title = "Running time of the methods in one run",
                          .paper = "Table time",
                          .example = "data/quickdraw --out paper"},
          .shots = {1, 5},
          .splits = {"base"},
          .tables = {{"time",
                      "Evaluating all episodes, reading features included",
                      {{"store", "store"},
                       {"method", "method"},
                       {"members", "members"},
                       {"shots", "shots"},
                       {"seconds", "time", "s"},
                       {"episodes", "episodes"},
                       {"threads", "threads"},
                       {"paper_members", "members in the paper"},
                       {"paper_minutes",
                        "time in the paper, 2000 episodes of mini-ImageNet on 20 "
                        "cores",
                        "min"}}}},
          .run = run_time,
          .keeps_steps = false};
}

}  // namespace deepvoro
