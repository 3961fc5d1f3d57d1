#include <algorithm>
#include <cmath>

#include "ensemble/influence_field.hpp"
#include "ensemble/selection.hpp"
#include "study/paper/measured.hpp"
#include "study/paper/random_subsets.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

constexpr std::size_t kDraws = 20;

// 1, 2, 3, 4, 6, 8, 12, 16, ... and all.
std::vector<std::size_t> sizes_up_to(std::size_t members) {
  std::vector<std::size_t> sizes{1};
  for (std::size_t power = 2; power < members; power *= 2)
    for (const std::size_t size : {power, power / 2 * 3})
      if (size < members && size > sizes.back()) sizes.push_back(size);
  if (members > 1) sizes.push_back(members);
  return sizes;
}

bool are_percentages(const json& value, std::size_t size) {
  return value.is_array() && value.size() == size &&
         std::ranges::all_of(value, [](const json& one) { return one.is_number(); });
}

void add_random(const StudyUnit& unit, Method method, const Pool& pool, double share) {
  const std::vector<std::size_t> sizes = sizes_up_to(pool.size());
  const auto compute = [&](const Progress& progress) -> json {
    const EpisodeList episodes = draw_episodes(unit.store.features, "novel", unit.plan);
    const EpisodeSetting setting{unit.store.features, "novel", episodes, Influence(1),
                                 unit.run.threads()};
    json of_draws = json::array();
    for (const auto& correct :
         correct_of_random_subsets(setting, pool, sizes, kDraws, unit.plan.seed, progress)) {
      json of_sizes = json::array();
      for (const std::uint64_t count : correct)
        of_sizes.push_back(percent_of_queries(count, unit.plan.shape, unit.plan.count));
      of_draws.push_back(std::move(of_sizes));
    }
    return of_draws;
  };
  const auto is_sound = [&](const json& value) {
    return value.is_array() && value.size() == kDraws &&
           std::ranges::all_of(value, [&](const json& of_sizes) {
             return are_percentages(of_sizes, sizes.size());
           });
  };
  const json what = {{"random_subsets", study_key(unit, pool)}, {"draws", kDraws}};
  const json of_draws = unit.run.step(unit.store, what, share, compute, is_sound);
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    std::vector<double> accuracy;
    for (const json& of_sizes : of_draws) accuracy.push_back(of_sizes[s].get<double>());
    // From the first on, so that equal values have no deviation.
    double above_first = 0;
    for (const double percent : accuracy) above_first += percent - accuracy.front();
    const double mean = accuracy.front() + above_first / kDraws;
    double squares = 0;
    for (const double percent : accuracy) squares += (percent - mean) * (percent - mean);
    unit.run.table("random").add({unit.store.name, unit.shots(), name(method), sizes[s], kDraws,
                                  mean, std::ranges::min(accuracy), std::ranges::max(accuracy),
                                  std::sqrt(squares / kDraws)});
  }
}

// The curves of the guided ensemble; the one on novel is only looked at, and called an oracle where
// a size is read off it.
json growing(const StudyUnit& unit, const Pool& pool, double share) {
  const auto compute = [&](const Progress& progress) -> json {
    const Influence influence(1);
    const auto ranking = ValidationRanking::measure(unit.store.features, pool, unit.plan, influence,
                                                    unit.run.threads(), part_of(progress, 0, 2));
    const EpisodeList episodes = draw_episodes(unit.store.features, "novel", unit.plan);
    const Oracle oracle =
        Oracle::peek({unit.store.features, "novel", episodes, influence, unit.run.threads()},
                     ranking, part_of(progress, 1, 2));
    return {{"val", ranking.ensemble_accuracy()},
            {"novel", oracle.accuracy_by_size},
            {"oracle", {oracle.size, oracle.accuracy.mean, oracle.accuracy.ci95}}};
  };
  const auto is_sound = [&](const json& value) {
    return value.is_object() && are_percentages(value.value("val", json()), pool.size()) &&
           are_percentages(value.value("novel", json()), pool.size()) &&
           are_percentages(value.value("oracle", json()), 3);
  };
  return unit.run.step(unit.store, {{"growing", study_key(unit, pool)}}, share, compute, is_sound);
}

void add_chosen(const StudyUnit& unit, Method method, const TunedPool& pool, const json& oracle,
                double share) {
  StudyTable& table = unit.run.table("chosen");
  const auto add = [&](const char* scheme, const Evaluation& request) {
    const Measured result = measured(unit, request, share / 4);
    const Estimate accuracy = result.accuracy();
    table.add({unit.store.name, unit.shots(), name(method), scheme, result.members,
               result.val_accuracy ? json(*result.val_accuracy) : json(), accuracy.mean,
               accuracy.ci95});
    return result.members;
  };
  Evaluation request = guided_evaluation(unit, method, pool);
  const std::size_t size = add("guided", request);
  request.scheme = Scheme::random;
  request.size = size;
  add("random", request);
  request.size.reset();
  request.scheme = Scheme::full;
  add("full", request);
  request.scheme = Scheme::greedy;
  add("greedy", request);
  table.add({unit.store.name, unit.shots(), name(method), "oracle", oracle[0], json(), oracle[1],
             oracle[2]});
}

void run_ensemble_size(const StudyUnit& unit) {
  for (const Method method : {Method::deepvoro, Method::deepvoro_plus_plus}) {
    const TunedPool pool = tuned_pool(unit, method, 0.2);
    add_random(unit, method, pool.members, 0.15);
    const json curves = growing(unit, pool.members, 0.05);
    for (std::size_t i = 0; i < pool.members.size(); ++i)
      unit.run.table("guided").add({unit.store.name, unit.shots(), name(method), i + 1,
                                    curves["val"][i], curves["novel"][i]});
    add_chosen(unit, method, pool, curves["oracle"], 0.1);
  }
}

}  // namespace

PaperStudy ensemble_size_study() {
  const StudyColumn store{"store", "store"};
  const StudyColumn shots{"shots", "shots"};
  const StudyColumn method{"method", "method"};
  const StudyColumn size{"size", "members"};
  return {.description = {.name = "ensemble-size",
                          .title = "Accuracy over the number of members",
                          .paper = "Figures ens-*, parts c and d; Tables no_dist and with_dist",
                          .example = "data/quickdraw --out paper"},
          .shots = {1, 5},
          .splits = {"val", "base"},
          .tables = {{"random",
                      "Random subsets of the members, on novel",
                      {store,
                       shots,
                       method,
                       size,
                       {"draws", "draws"},
                       {"mean", "mean over the draws", "%"},
                       {"lowest", "lowest", "%"},
                       {"highest", "highest", "%"},
                       {"sd", "standard deviation", "%"}}},
                     {"guided",
                      "Members added by their rank on val",
                      {store,
                       shots,
                       method,
                       size,
                       {"val", "accuracy on val", "%"},
                       {"novel", "accuracy on novel", "%"}}},
                     {"chosen",
                      "What each scheme chooses; the oracle chooses its size on novel itself, test "
                      "leakage, not a result",
                      {store,
                       shots,
                       method,
                       {"scheme", "scheme"},
                       size,
                       {"val", "accuracy on val", "%"},
                       {"novel", "accuracy on novel", "%"},
                       {"ci95", "95 % interval, half", "%"}}}},
          .run = run_ensemble_size};
}

}  // namespace deepvoro
