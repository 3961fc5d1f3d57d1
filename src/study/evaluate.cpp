#include "deepvoro/study/evaluate.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/files.hpp"
#include "deepvoro/ensemble/ensemble.hpp"
#include "deepvoro/features/npy.hpp"

namespace deepvoro {
namespace {

constexpr std::array kSchemeNames = {"full", "random", "guided"};

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

Pool members_of(const Evaluation& request, const FeatureStore& store) {
  Pool pool = request.pool ? read_pool(*request.pool) : default_pool(request.method, store);
  if (request.is_signed)
    for (Configuration& member : pool) member.transform.is_signed = true;
  const std::string origin =
      request.pool ? request.pool->string() : std::string("method ") + name(request.method);
  check_members(store, request.split, pool, origin);
  if (request.size && *request.size > pool.size())
    throw usage_error(
        fmt::format("--size {}: {} has {} members", *request.size, origin, pool.size()));
  return pool;
}

Selection select(const Evaluation& request, const Pool& pool,
                 const std::optional<ValidationRanking>& ranking) {
  switch (request.scheme) {
    case Scheme::random:
      return Selection::random(pool, *request.size, request.plan.seed);
    case Scheme::guided:
      return Selection::guided(*ranking, request.size);
    case Scheme::full:
      break;
  }
  return Selection::full(pool);
}

// The --scores file, filled episode by episode.
class ScoresFile {
 public:
  ScoresFile(const std::filesystem::path& file, const EpisodePlan& plan) : file_(file) {
    file_.write(npy_header("<f8", std::array<std::uint64_t, 3>{
                                      plan.count, plan.shape.total_queries(), plan.shape.ways}));
  }
  void append(std::span<const double> scores) { file_.write(std::as_bytes(scores)); }
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
};

}  // namespace

Scheme scheme_named(const std::string& name) {
  for (std::size_t i = 0; i < kSchemeNames.size(); ++i)
    if (name == kSchemeNames[i]) return static_cast<Scheme>(i);
  throw usage_error(fmt::format("--scheme {}: unknown; use full, random or guided", name));
}

const char* name(Scheme scheme) {
  return kSchemeNames[static_cast<std::size_t>(scheme)];
}

void check(const Evaluation& request) {
  (void)Influence(request.alpha);
  if (request.threads < 1) throw usage_error("--threads must be at least 1");
  if (!is_split_name(request.split))
    throw usage_error(fmt::format("--split {}: unknown; use novel, val or base", request.split));
  if (request.scheme == Scheme::full && request.size)
    throw usage_error("--size goes with --scheme random or guided");
  if (request.scheme == Scheme::random && !request.size)
    throw usage_error("--scheme random needs --size, the number of members to draw");
  if (request.scheme == Scheme::guided && request.split == "val")
    throw usage_error(
        "--scheme guided chooses on val, so its accuracy there means nothing; "
        "evaluate on --split novel");
  if (request.oracle && request.scheme != Scheme::guided)
    throw usage_error("--oracle goes with --scheme guided");
}

EvaluationResult evaluate(const FeatureStore& store, const Evaluation& request,
                          const std::optional<std::filesystem::path>& scores_file,
                          const Progress& progress) {
  check(request);
  EvaluationResult result{.request = request};
  std::optional<ScoresFile> scores;
  if (scores_file) scores.emplace(*scores_file, request.plan);
  const Pool pool = members_of(request, store);
  const EpisodeList episodes = draw_episodes(store, request.split, request.plan);
  const Influence influence(request.alpha);
  const Arena arena{store, request.split, episodes, influence, request.threads};
  const std::size_t steps = request.scheme != Scheme::guided ? 1 : request.oracle ? 3 : 2;

  const Stopwatch selecting;
  std::optional<ValidationRanking> ranking;
  if (request.scheme == Scheme::guided)
    ranking = ValidationRanking::measure(store, pool, request.plan, influence, request.threads,
                                         part_of(progress, 0, steps));
  const Selection selection = select(request, pool, ranking);
  result.members = selection.members();
  if (ranking)
    result.guidance = {pool.size(), ranking->ensemble_accuracy()[result.members.size() - 1]};
  result.selection_seconds = selecting.seconds();

  const Stopwatch evaluating;
  ScoreSink sink;
  if (scores) sink = [&](std::span<const double> values) { scores->append(values); };
  result.episode_accuracy =
      evaluate_ensemble(arena, selection, sink, part_of(progress, ranking ? 1 : 0, steps));
  result.accuracy = estimate(result.episode_accuracy);
  result.evaluation_seconds = evaluating.seconds();

  if (request.oracle) result.oracle = Oracle::peek(arena, *ranking, part_of(progress, 2, steps));
  if (scores) scores->commit();
  return result;
}

}  // namespace deepvoro
