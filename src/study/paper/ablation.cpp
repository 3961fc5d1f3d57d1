#include <algorithm>
#include <set>

#include "study/paper/measured.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

// How many different values each level of heterogeneity has among some members.
struct Levels {
  std::size_t views = 1;
  std::size_t transformations = 1;
  std::size_t geometries = 1;
};

Levels levels_of(const Pool& members) {
  std::set<std::string> views;
  std::set<std::string> transformations;
  std::set<std::string> geometries;
  for (const Member& member : members) {
    views.insert(member.view);
    transformations.insert(member.transform.id());
    geometries.insert(member.geometry.id());
  }
  return {views.size(), transformations.size(), geometries.size()};
}

Pool members_like(const Pool& pool, const auto& is_wanted) {
  Pool found;
  std::ranges::copy_if(pool, std::back_inserter(found), is_wanted);
  return found;
}

// The transformation and geometry that is best on val, on the mean of the views.
const Member& best_configuration(const Pool& pool, const std::vector<double>& val) {
  std::size_t best = 0;
  double best_sum = -1;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < pool.size(); ++j)
      if (pool[i].transform == pool[j].transform && pool[i].geometry == pool[j].geometry)
        sum += val[j];
    if (sum > best_sum) {
      best = i;
      best_sum = sum;
    }
  }
  return pool[best];
}

class Ablation {
 public:
  explicit Ablation(const StudyUnit& unit) : unit_(unit) {}

  void add_cluster_head() {
    const Measured result =
        measured(unit_, usual_evaluation(unit_, Method::deepvoro_minus_minus), 0.05);
    add_level("deepvoro--", "CIVD", {}, 1, "none", result.accuracy(), false);
  }

  void add_method(Method method, const char* geometry) {
    const TunedPool tuned = tuned_pool(unit_, method, 0.25);
    const Pool& pool = tuned.members;
    const Pool one_view =
        members_like(pool, [&](const Member& member) { return member.view == pool.front().view; });
    const Member best = best_configuration(pool, member_accuracy(unit_, "val", pool, 0.03));
    const Pool one_configuration = members_like(pool, [&](const Member& member) {
      return member.transform == best.transform && member.geometry == best.geometry;
    });
    const char* label = name(method);
    const Measured none = measured(unit_, usual_evaluation(unit_, Method::vd), 0.01);
    const Measured of_view = measured_together(unit_, one_view, 0.03);
    const Measured of_configuration = measured_together(unit_, one_configuration, 0.03);
    Evaluation request = guided_evaluation(unit_, method, tuned);
    const Measured guided = measured(unit_, request, 0.05);
    request.scheme = Scheme::random;
    request.size = guided.members;
    const Measured random = measured(unit_, request, 0.03);
    request.scheme = Scheme::full;
    request.size.reset();
    const Measured full = measured(unit_, request, 0.03);

    add_level(label, geometry, {}, 1, "none", estimate(mean_of_members(unit_, pool, 0.03)), true);
    add_level(label, geometry, levels_of(one_view), one_view.size(), "full", of_view.accuracy(),
              false);
    add_level(label, geometry, levels_of(one_configuration), one_configuration.size(), "full",
              of_configuration.accuracy(), false);
    add_level(label, geometry, levels_of(pool), guided.members, "guided", guided.accuracy(), false);

    add_scheme(label, "none", {}, none);
    add_scheme(label, "full", levels_of(one_view), of_view);
    add_scheme(label, "full", levels_of(one_configuration), of_configuration);
    add_scheme(label, "full", levels_of(pool), full);
    add_scheme(label, "random", levels_of(pool), random);
    add_scheme(label, "guided", levels_of(pool), guided);
  }

 private:
  void add_level(const char* method, const char* geometry, const Levels& levels,
                 std::size_t members, const char* scheme, const Estimate& accuracy,
                 bool is_averaged) {
    unit_.run.table("ablation_all")
        .add({unit_.store.name, unit_.shots(), method, geometry, levels.views,
              levels.transformations, levels.geometries, members, scheme, accuracy.mean,
              accuracy.ci95, is_averaged});
  }

  void add_scheme(const char* method, const char* scheme, const Levels& levels,
                  const Measured& result) {
    const Estimate accuracy = result.accuracy();
    unit_.run.table("schemes").add({unit_.store.name, unit_.shots(), method, scheme, levels.views,
                                    levels.transformations, levels.geometries, result.members,
                                    accuracy.mean, accuracy.ci95});
  }

  const StudyUnit& unit_;
};

void run_ablation(const StudyUnit& unit) {
  Ablation ablation(unit);
  ablation.add_cluster_head();
  ablation.add_method(Method::deepvoro, "CCVD");
  ablation.add_method(Method::deepvoro_plus_plus, "CCVD with surrogates");
}

}  // namespace

PaperStudy ablation_study() {
  const StudyColumn store{"store", "store"};
  const StudyColumn shots{"shots", "shots"};
  const StudyColumn method{"method", "method"};
  const StudyColumn scheme{"scheme", "scheme"};
  const StudyColumn features{"features", "views in the pool"};
  const StudyColumn transformations{"transformations", "transformations in the pool"};
  const StudyColumn geometries{"geometries", "geometries in the pool"};
  const StudyColumn members{"members", "members that take part"};
  const StudyColumn accuracy{"accuracy", "accuracy", "%"};
  const StudyColumn ci95{"ci95", "95 % interval, half", "%"};
  return {.description = {.name = "ablation",
                          .title = "Levels of heterogeneity switched on one by one",
                          .paper = "Tables ablation_all, no_dist, with_dist",
                          .example = "data/quickdraw --out paper"},
          .shots = {1, 5},
          .splits = {"val", "base"},
          .tables = {{"ablation_all",
                      "Levels of heterogeneity",
                      {store,
                       shots,
                       method,
                       {"geometry", "geometric structure"},
                       features,
                       transformations,
                       geometries,
                       members,
                       scheme,
                       accuracy,
                       ci95,
                       {"averaged", "mean of single members"}}},
                     {"schemes",
                      "Ensemble schemes",
                      {store, shots, method, scheme, features, transformations, geometries, members,
                       accuracy, ci95}}},
          .run = run_ablation};
}

}  // namespace deepvoro
