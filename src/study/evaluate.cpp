#include "deepvoro/study/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "classifier/episodic.hpp"
#include "core/files.hpp"
#include "core/names.hpp"
#include "core/stopwatch.hpp"
#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/core/error.hpp"
#include "ensemble/ensemble.hpp"
#include "ensemble/ensemble_device.hpp"
#include "ensemble/head_evaluation.hpp"
#include "ensemble/selection.hpp"
#include "ensemble/space_cache.hpp"
#include "features/npy.hpp"
#include "study/answer_counter.hpp"

namespace deepvoro {
namespace {

constexpr std::array kSchemeNames = {"full", "random", "guided", "greedy"};

bool chooses_on_val(Scheme scheme) {
  return scheme == Scheme::guided || scheme == Scheme::greedy;
}

// A pool that is not what the method is called would give results under a wrong name.
void check_pool_is_of_method(const Pool& pool, Method method, const std::string& origin) {
  const bool surrogates = std::ranges::any_of(
      pool, [](const Member& member) { return member.geometry.as<Surrogate>() != nullptr; });
  if (surrogates && method != Method::deepvoro_plus_plus)
    throw usage_error(
        fmt::format("{}: has surrogate members, so it is not {}; use `method` deepvoro++", origin,
                    name(method)));
  const bool has_plda = std::ranges::any_of(
      pool, [](const Member& member) { return member.geometry.as<Plda>() != nullptr; });
  if (has_plda && method != Method::plda)
    throw usage_error(fmt::format("{}: has plda members, so it is not {}; use `method` plda",
                                  origin, name(method)));
  if (!has_plda && method == Method::plda)
    throw usage_error(
        fmt::format("{}: has no plda members, so it is not plda; use `method` deepvoro", origin));
  if (pool.size() > 1 && method == Method::vd)
    throw usage_error(fmt::format("{}: has {} members, so it is not vd; use `method` deepvoro",
                                  origin, pool.size()));
}

Pool own_members(const Evaluation& request, const FeatureStore& store) {
  const std::vector<std::string> views =
      request.release_views ? release_views(store.views(), store.folder().string()) : store.views();
  return request.preset
             ? published_pool(request.method, views, *request.preset, request.plan.shape.shots)
             : default_pool(request.method, views);
}

Pool members_of(const Evaluation& request, const FeatureStore& store) {
  Pool pool = request.pool ? read_pool(*request.pool) : own_members(request, store);
  if (request.view) pool.front().view = *request.view;
  if (request.is_signed)
    for (Member& member : pool) member.transform.is_signed = true;
  const std::string origin =
      request.pool ? request.pool->string() : std::string("method ") + name(request.method);
  check_members(store, request.split, pool, origin);
  check_pool_is_of_method(pool, request.method, origin);
  if (request.size && *request.size > pool.size())
    throw usage_error(
        fmt::format("`size` {}: {} has {} members", *request.size, origin, pool.size()));
  return pool;
}

HeadConfiguration head_of(const Evaluation& request, const FeatureStore& store) {
  return {.method = request.method,
          .view = request.view.value_or(store.views().front()),
          .logistic = request.logistic,
          .normalisation = request.normalisation,
          .is_signed = request.is_signed};
}

void run_ensemble(const EpisodeSetting& setting, const Pool& pool, const ScoreSink& sink,
                  const Progress& progress, EvaluationResult& result) {
  const Evaluation& request = result.request;
  const std::size_t steps = !chooses_on_val(request.scheme) ? 1 : request.oracle ? 3 : 2;
  const Progress choosing = part_of(progress, 0, steps);

  const Stopwatch selecting;
  std::optional<ValidationRanking> ranking;
  Selection selection = Selection::full(pool);
  if (request.scheme == Scheme::random)
    selection = Selection::random(pool, *request.size, request.plan.seed);
  if (request.scheme == Scheme::guided) {
    ranking = ValidationRanking::measure(setting.store, pool, request.plan, setting.influence,
                                         request.threads, choosing, setting.spaces);
    selection = Selection::guided(*ranking, request.size);
    result.guidance = {
        pool.size(), ranking->ensemble_accuracy()[selection.members().size() - 1], {}};
  }
  if (request.scheme == Scheme::greedy) {
    const auto ensemble =
        GreedyEnsemble::measure(setting.store, pool, request.plan, setting.influence,
                                request.threads, choosing, setting.spaces);
    selection = Selection::greedy(ensemble);
    result.guidance = {pool.size(), ensemble.val_accuracy(), ensemble.counts()};
  }
  result.members = selection.members();
  result.selection_seconds = selecting.seconds();

  const Stopwatch evaluating;
  result.episode_accuracy = evaluate_ensemble(setting, selection, sink,
                                              part_of(progress, result.guidance ? 1 : 0, steps));
  result.evaluation_seconds = evaluating.seconds();

  if (request.oracle) result.oracle = Oracle::peek(setting, *ranking, part_of(progress, 2, steps));
}

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
  check(request);
  EvaluationResult result{.request = request};
  Pool pool;
  if (is_ensemble(request.method)) {
    pool = members_of(request, store);
  } else {
    result.head = head_of(request, store);
    check_head(store, request.split, *result.head);
  }
  const EpisodeList episodes = draw_episodes(store, request.split, request.plan);
  SpaceCache spaces(store);
  EpisodeSetting setting{store,           request.split, episodes, Influence(request.alpha),
                         request.threads, &spaces};
  std::unique_ptr<EnsembleDevice> device;
  if (request.device != "cpu") device = backbone_library().ensemble_device(request.device);
  setting.device = device.get();
  AnswerCounter counter(store, request.split, episodes);
  const ScoreSink counting = [&](std::span<const double> of_episode) {
    counter.add(of_episode);
    if (scores) scores(of_episode);
  };
  const std::size_t steps = request.reliability.asks_for_something() ? 2 : 1;
  if (result.head) {
    const Stopwatch evaluating;
    result.episode_accuracy =
        evaluate_head(setting, *result.head, counting, part_of(progress, 0, steps));
    result.evaluation_seconds = evaluating.seconds();
  } else {
    run_ensemble(setting, pool, counting, part_of(progress, 0, steps), result);
  }
  if (request.reliability.asks_for_something()) {
    ReliabilityRequest with_seed = request.reliability;
    with_seed.seed = request.plan.seed;
    result.reliability =
        measure_reliability(setting, result.members, with_seed, part_of(progress, 1, steps));
  }
  result.answers = counter.answers();
  result.accuracy = estimate(result.episode_accuracy);
  return result;
}

}  // namespace deepvoro
