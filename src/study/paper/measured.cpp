#include "study/paper/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/files.hpp"
#include "core/json_text.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/study/tune.hpp"
#include "ensemble/ensemble.hpp"
#include "ensemble/head_evaluation.hpp"
#include "ensemble/influence_field.hpp"
#include "study/plan_json.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

json plan_json(const EpisodePlan& plan) {
  ordered_json object;
  add_plan(object, plan);
  return object;
}

json json_of(const Pool& pool) {
  return parse_json(members_json(pool));
}

json described(const Evaluation& request) {
  json object = {{"evaluate", name(request.method)},
                 {"split", request.split},
                 {"plan", plan_json(request.plan)},
                 {"scheme", name(request.scheme)},
                 {"alpha", request.alpha}};
  if (request.size) object["size"] = *request.size;
  if (request.pool) object["members"] = json_of(read_pool(*request.pool));
  if (request.view) object["view"] = *request.view;
  if (is_ensemble(request.method)) return object;
  object["normalisation"] = name(request.normalisation);
  if (!has_logistic(request.method)) return object;
  object["logistic"] = {{"kind", name(request.logistic.kind)},
                        {"epochs", request.logistic.epochs},
                        {"weight_decay", request.logistic.weight_decay},
                        {"start", name(request.logistic.start)},
                        {"sigmoid", request.logistic.sigmoid}};
  return object;
}

bool are_counts(const json& value, std::size_t size, std::uint64_t most) {
  return value.is_array() && value.size() == size &&
         std::ranges::all_of(value, [&](const json& count) {
           return count.is_number_unsigned() && count.get<std::uint64_t>() <= most;
         });
}

// Whole numbers again, so that what is kept is exact and short.
json counts_of(const std::vector<double>& episode_accuracy, const EpisodeShape& shape) {
  json counts = json::array();
  for (const double percent : episode_accuracy)
    counts.push_back(static_cast<std::uint64_t>(
        std::llround(percent * static_cast<double>(shape.total_queries()) / 100)));
  return counts;
}

}  // namespace

json study_key(const StudyUnit& unit, const Pool& members) {
  return {{"plan", plan_json(unit.plan)}, {"members", json_of(members)}};
}

std::vector<double> Measured::episode_accuracy() const {
  std::vector<double> percent;
  for (const std::uint64_t of_episode : correct)
    percent.push_back(percent_of_queries(of_episode, shape));
  return percent;
}

Estimate Measured::accuracy() const {
  return estimate(episode_accuracy());
}

Evaluation usual_evaluation(const StudyUnit& unit, Method method) {
  return {.method = method,
          .plan = unit.plan,
          .is_signed = unit.run.is_signed(),
          .threads = unit.run.threads()};
}

Measured measured(const StudyUnit& unit, const Evaluation& request, double share) {
  const EpisodeShape& shape = request.plan.shape;
  const auto compute = [&](const Progress& progress) {
    const EvaluationResult result = evaluate(unit.store.features, request, {}, progress);
    json value = {{"correct", counts_of(result.episode_accuracy, shape)},
                  {"members", result.member_count()}};
    if (result.guidance) value["val_accuracy"] = result.guidance->val_accuracy;
    return value;
  };
  const auto is_sound = [&](const json& value) {
    return value.is_object() && value.contains("correct") && value.contains("members") &&
           are_counts(value["correct"], request.plan.count, shape.total_queries()) &&
           value["members"].is_number_unsigned() &&
           (!value.contains("val_accuracy") || value["val_accuracy"].is_number());
  };
  const json value = unit.run.step(unit.store, described(request), share, compute, is_sound);
  Measured result{shape, value["correct"].get<std::vector<std::uint64_t>>(),
                  value["members"].get<std::size_t>()};
  if (value.contains("val_accuracy")) result.val_accuracy = value["val_accuracy"].get<double>();
  return result;
}

TunedPool tuned_pool(const StudyUnit& unit, Method method, double share) {
  const std::string pool_name =
      fmt::format("{}-{}-{}-shot", unit.store.name, name(method), unit.shots());
  const std::filesystem::path file = unit.run.pool_file(pool_name);
  const Tuning request{.method = method,
                       .plan = unit.plan,
                       .grid = default_grid(method),
                       .is_signed = unit.run.is_signed(),
                       .threads = unit.run.threads()};
  const auto compute = [&](const Progress& progress) -> json {
    std::error_code failed;  // shows when the file is written
    std::filesystem::create_directories(file.parent_path(), failed);
    (void)tune(unit.store.features, request, file, progress);
    return read_text(file);
  };
  const auto is_sound = [](const json& value) { return value.is_string(); };
  const json what = {{"tune", name(method)}, {"plan", plan_json(unit.plan)}};
  const auto text = unit.run.step(unit.store, what, share, compute, is_sound).get<std::string>();
  // Another study may have written it for other episodes, or somebody deleted it.
  unit.run.keep_pool(pool_name, text);
  return {file, read_pool(file)};
}

Evaluation guided_evaluation(const StudyUnit& unit, Method method, const TunedPool& pool) {
  Evaluation request = usual_evaluation(unit, method);
  request.pool = pool.file;
  request.scheme = Scheme::guided;
  return request;
}

Measured measured_together(const StudyUnit& unit, const Pool& members, double share) {
  const EpisodeShape& shape = unit.plan.shape;
  const auto compute = [&](const Progress& progress) -> json {
    const EpisodeList episodes = draw_episodes(unit.store.features, "novel", unit.plan);
    const EpisodeSetting setting{unit.store.features, "novel", episodes, Influence(1),
                                 unit.run.threads()};
    return counts_of(evaluate_ensemble(setting, Selection::full(members), {}, progress), shape);
  };
  const auto is_sound = [&](const json& value) {
    return are_counts(value, unit.plan.count, shape.total_queries());
  };
  const json value =
      unit.run.step(unit.store, {{"together", study_key(unit, members)}}, share, compute, is_sound);
  return {shape, value.get<std::vector<std::uint64_t>>(), members.size()};
}

std::vector<double> mean_of_members(const StudyUnit& unit, const Pool& members, double share) {
  const auto compute = [&](const Progress& progress) -> json {
    const EpisodeList episodes = draw_episodes(unit.store.features, "novel", unit.plan);
    const EpisodeSetting setting{unit.store.features, "novel", episodes, Influence(1),
                                 unit.run.threads()};
    std::vector<std::atomic<std::uint64_t>> correct(unit.plan.count);
    count_members(
        setting, picked(members, streaming_order(members)), {0, unit.plan.count},
        [&](std::size_t, std::size_t episode, std::uint32_t of_member) {
          correct[episode].fetch_add(of_member, std::memory_order_relaxed);
        },
        progress);
    return std::vector<std::uint64_t>(correct.begin(), correct.end());
  };
  const std::uint64_t most = members.size() * unit.plan.shape.total_queries();
  const auto is_sound = [&](const json& value) { return are_counts(value, unit.plan.count, most); };
  std::vector<double> percent;
  const json what = {{"sum_of_members", study_key(unit, members)}};
  for (const json& correct : unit.run.step(unit.store, what, share, compute, is_sound))
    percent.push_back(
        percent_of_queries(correct.get<std::uint64_t>(), unit.plan.shape, members.size()));
  return percent;
}

std::vector<Measured> measured_alone(const StudyUnit& unit, const std::string& split,
                                     const Pool& members, double share) {
  const EpisodeShape& shape = unit.plan.shape;
  const auto compute = [&](const Progress& progress) -> json {
    const EpisodeList episodes = draw_episodes(unit.store.features, split, unit.plan);
    const EpisodeSetting setting{unit.store.features, split, episodes, Influence(1),
                                 unit.run.threads()};
    const std::vector<std::size_t> order = streaming_order(members);
    std::vector correct(members.size(), std::vector<std::uint32_t>(unit.plan.count));
    count_members(
        setting, picked(members, order), {0, unit.plan.count},
        [&](std::size_t streamed, std::size_t episode, std::uint32_t of_member) {
          correct[order[streamed]][episode] = of_member;
        },
        progress);
    return correct;
  };
  const auto is_sound = [&](const json& value) {
    return value.is_array() && value.size() == members.size() &&
           std::ranges::all_of(value, [&](const json& of_member) {
             return are_counts(of_member, unit.plan.count, shape.total_queries());
           });
  };
  const json what = {{"alone", study_key(unit, members)}, {"split", split}};
  std::vector<Measured> found;
  for (const json& correct : unit.run.step(unit.store, what, share, compute, is_sound))
    found.push_back({shape, correct.get<std::vector<std::uint64_t>>(), 1});
  return found;
}

std::vector<double> member_accuracy(const StudyUnit& unit, const std::string& split,
                                    const Pool& members, double share) {
  const auto compute = [&](const Progress& progress) -> json {
    const EpisodeList episodes = draw_episodes(unit.store.features, split, unit.plan);
    const EpisodeSetting setting{unit.store.features, split, episodes, Influence(1),
                                 unit.run.threads()};
    return correct_of_each_member(setting, members, progress);
  };
  const std::uint64_t queries = unit.plan.count * unit.plan.shape.total_queries();
  const auto is_sound = [&](const json& value) {
    return are_counts(value, members.size(), queries);
  };
  const json what = {{"each_member", study_key(unit, members)}, {"split", split}};
  std::vector<double> percent;
  for (const json& correct : unit.run.step(unit.store, what, share, compute, is_sound))
    percent.push_back(
        percent_of_queries(correct.get<std::uint64_t>(), unit.plan.shape, unit.plan.count));
  return percent;
}

}  // namespace deepvoro
