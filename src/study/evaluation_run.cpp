#include "study/evaluation_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "classifier/episodic.hpp"
#include "core/stopwatch.hpp"
#include "core/text.hpp"
#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/core/error.hpp"
#include "ensemble/ensemble.hpp"
#include "ensemble/head_evaluation.hpp"

namespace deepvoro {
namespace {

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
        fmt::format("`size` {}: {} has {}", *request.size, origin, counted(pool.size(), "member")));
  return pool;
}

const Evaluation& checked(const Evaluation& request) {
  check(request);
  return request;
}

}  // namespace

HeadConfiguration head_of(const Evaluation& request, const FeatureStore& store) {
  return {.method = request.method,
          .view = request.view.value_or(store.views().front()),
          .logistic = request.logistic,
          .normalisation = request.normalisation,
          .is_signed = request.is_signed};
}

EvaluationRun::EvaluationRun(const FeatureStore& store, const Evaluation& request,
                             std::shared_ptr<EpisodeStream> stream)
    : store_(store),
      request_(checked(request)),
      pool_(is_ensemble(request.method) ? members_of(request, store) : Pool()),
      stream_(std::move(stream)),
      spaces_(store) {
  if (!is_ensemble(request.method)) {
    head_ = head_of(request, store);
    check_head(store, request.split, *head_);
  }
  if (stream_ == nullptr)
    stream_ = std::make_shared<EpisodeStream>(episode_stream(store, request.split, request.plan));
  if (request.device != "cpu") device_ = backbone_library().ensemble_device(request.device);
}

const EpisodeList& EvaluationRun::episodes() const {
  return stream_->at_least(request_.plan.count);
}

EpisodeList EvaluationRun::episodes(std::size_t begin, std::size_t end) const {
  return stream_->at_least(end).part(begin, end);
}

EpisodeSetting EvaluationRun::setting(const EpisodeList& some) const {
  EpisodeSetting setting{store_,           request_.split, some, Influence(request_.alpha),
                         request_.threads, &spaces_};
  setting.device = device_.get();
  return setting;
}

EvaluationResult EvaluationRun::choose(const Progress& progress) {
  EvaluationResult result{.request = request_};
  result.head = head_;
  if (request_.pool) result.pool_shots = tuned_shots(*request_.pool);
  const Stopwatch selecting;
  if (!head_) choose_members(result, progress);
  result.selection_seconds = head_ ? 0 : selecting.seconds();
  return result;
}

void EvaluationRun::choose_members(EvaluationResult& result, const Progress& progress) {
  const Influence influence(request_.alpha);
  switch (request_.scheme) {
    case Scheme::full:
      selection_ = Selection::full(pool_);
      break;
    case Scheme::random:
      selection_ = Selection::random(pool_, *request_.size, request_.plan.seed);
      break;
    case Scheme::guided:
      ranking_ = ValidationRanking::measure(store_, pool_, request_.plan, influence,
                                            request_.threads, progress, &spaces_);
      selection_ = Selection::guided(*ranking_, request_.size);
      result.guidance = {
          pool_.size(), ranking_->ensemble_accuracy()[selection_->members().size() - 1], {}};
      break;
    case Scheme::greedy: {
      const auto ensemble = GreedyEnsemble::measure(store_, pool_, request_.plan, influence,
                                                    request_.threads, progress, &spaces_);
      selection_ = Selection::greedy(ensemble);
      result.guidance = {pool_.size(), ensemble.val_accuracy(), ensemble.counts()};
      break;
    }
  }
  result.members = selection_->members();
}

std::vector<double> EvaluationRun::evaluate(const EpisodeList& some, const ScoreSink& scores,
                                            const Progress& progress) const {
  return head_ ? evaluate_head(setting(some), *head_, scores, progress)
               : evaluate_ensemble(setting(some), *selection_, scores, progress);
}

Oracle EvaluationRun::oracle(const Progress& progress) const {
  return Oracle::peek(setting(episodes()), *ranking_, progress);
}

Reliability EvaluationRun::reliability(const Progress& progress) const {
  ReliabilityRequest with_seed = request_.reliability;
  with_seed.seed = request_.plan.seed;
  return measure_reliability(setting(episodes()), selection_->members(), with_seed, progress);
}

}  // namespace deepvoro
