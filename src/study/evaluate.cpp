#include "deepvoro/study/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "classifier/episodic.hpp"
#include "core/files.hpp"
#include "core/names.hpp"
#include "core/stopwatch.hpp"
#include "deepvoro/core/error.hpp"
#include "features/npy.hpp"
#include "study/answer_counter.hpp"
#include "study/evaluation_run.hpp"

namespace deepvoro {
namespace {

constexpr std::array kSchemeNames = {"full", "random", "guided", "greedy"};

// A head has no members to choose from, an ensemble of many views not one to choose.
void check_members_fit_method(const Evaluation& request) {
  const char* method = name(request.method);
  if (!is_ensemble(request.method)) {
    if (request.pool)
      throw usage_error(fmt::format("`pool`: method {} has no members to replace", method));
    if (request.scheme != Scheme::full)
      throw usage_error(fmt::format("`scheme` {}: method {} has no members to choose from",
                                    name(request.scheme), method));
    if (request.device != "cpu")
      throw usage_error(
          fmt::format("`device` {}: method {} runs on the CPU alone; use `device` cpu",
                      request.device, method));
    constexpr std::size_t most_epochs = 1'000'000;
    if (request.logistic.epochs < 1 || request.logistic.epochs > most_epochs)
      throw usage_error(fmt::format("`epochs` must be from 1 to {}", most_epochs));
    constexpr double most_decay = 1000;
    if (!(request.logistic.weight_decay >= 0 && request.logistic.weight_decay <= most_decay))
      throw usage_error(fmt::format("`weight_decay` {}: must be from 0 to {}",
                                    request.logistic.weight_decay, most_decay));
  } else if (request.pool && (request.preset || request.release_views)) {
    throw usage_error(
        fmt::format("`{}` makes members, and `pool` has them already; give one of the two",
                    request.preset ? "preset" : "views"));
  } else if (request.view && (request.pool || request.method != Method::vd)) {
    throw usage_error(fmt::format("`view` {}: {} names its own views; put others into a pool file",
                                  *request.view,
                                  request.pool ? "`pool`" : std::string("method ") + method));
  }
}

}  // namespace

bool chooses_on_val(Scheme scheme) {
  return scheme == Scheme::guided || scheme == Scheme::greedy;
}

Scheme scheme_named(const std::string& name) {
  return value_named<Scheme>(name, kSchemeNames,
                             "`scheme` {}: unknown; use full, random, guided or greedy");
}

const char* name(Scheme scheme) {
  return name_of(scheme, kSchemeNames);
}

void check(const Evaluation& request) {
  (void)Influence(request.alpha);
  if (request.threads < 1) throw usage_error("`threads` must be at least 1");
  if (!is_split_name(request.split))
    throw usage_error(fmt::format("`split` {}: unknown; use novel, val or base", request.split));
  if (request.scheme != Scheme::random && request.scheme != Scheme::guided && request.size)
    throw usage_error("`size` needs `scheme` random or guided");
  if (request.scheme == Scheme::random && !request.size)
    throw usage_error("`scheme` random needs `size`, the number of members to draw");
  if (chooses_on_val(request.scheme) && request.split == "val")
    throw usage_error(
        fmt::format("`scheme` {} chooses on val, so its accuracy there means nothing; evaluate on "
                    "`split` novel",
                    name(request.scheme)));
  if (request.oracle && request.scheme != Scheme::guided)
    throw usage_error("`oracle` needs `scheme` guided");
  check_members_fit_method(request);
  check(request.reliability, request.method);
}

ScoresFile::ScoresFile(const std::filesystem::path& file, const EpisodePlan& plan)
    : file_(std::make_shared<AtomicFile>(file)) {
  file_->write(npy_header("<f8", std::array<std::uint64_t, 3>{
                                     plan.count, plan.shape.total_queries(), plan.shape.ways}));
}

void ScoresFile::append(std::span<const double> scores) {
  file_->write(std::as_bytes(scores));
}

void ScoresFile::commit() {
  file_->commit();
}

EvaluationResult evaluate(const FeatureStore& store, const Evaluation& request,
                          const ScoreSink& scores, const Progress& progress) {
  EvaluationRun run(store, request);
  AnswerCounter counter(store, request.split, run.episodes());
  std::vector<std::uint32_t> answers(request.plan.shape.total_queries());
  const ScoreSink counting = [&](std::span<const double> of_episode) {
    read_answers(of_episode, answers);
    counter.add(answers);
    if (scores) scores(of_episode);
  };
  const std::size_t steps = std::size_t{1} + (chooses_on_val(request.scheme) ? 1U : 0U) +
                            (request.oracle ? 1U : 0U) +
                            (request.reliability.asks_for_something() ? 1U : 0U);
  std::size_t step = 0;
  const auto next_step = [&] { return part_of(progress, step++, steps); };

  EvaluationResult result = run.choose(chooses_on_val(request.scheme) ? next_step() : Progress());
  const Stopwatch evaluating;
  result.episode_accuracy = run.evaluate(run.episodes(), counting, next_step());
  result.evaluation_seconds = evaluating.seconds();
  if (request.oracle) result.oracle = run.oracle(next_step());
  if (request.reliability.asks_for_something()) result.reliability = run.reliability(next_step());
  result.answers = counter.answers();
  result.accuracy = estimate(result.episode_accuracy);
  return result;
}

}  // namespace deepvoro
