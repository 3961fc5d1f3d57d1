#include "deepvoro/study/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/companion_name.hpp"
#include "core/files.hpp"
#include "deepvoro/core/error.hpp"
#include "ensemble/ensemble.hpp"
#include "step_log.hpp"
#include "study/tuner.hpp"
#include "study/tuning_file.hpp"
#include "study/tuning_settings.hpp"

namespace deepvoro {
namespace {

std::filesystem::path log_file(const std::filesystem::path& out) {
  std::error_code ignored;
  if (std::filesystem::exists(out, ignored) && !std::filesystem::is_regular_file(out, ignored))
    throw usage_error(fmt::format(
        "`out` {}: is not a regular file, next to which a checkpoint could be kept", out.string()));
  return companion_name(out, ".partial");
}

// Counts steps one after the other, and keeps them in a log.
class LoggedSteps {
 public:
  LoggedSteps(const Tuning& request, const EpisodeSetting& setting, StepLog& log, Progress progress)
      : request_(request),
        setting_(setting),
        log_(log),
        progress_(std::move(progress)),
        cost_of_all_(cost_of_all_steps(request)) {}

  [[nodiscard]] std::size_t finished() const { return finished_; }

  [[nodiscard]] std::vector<Counts> count(const std::vector<TuningStep>& stage) {
    std::vector<Counts> counts;
    counts.reserve(stage.size());
    for (const TuningStep& step : stage) counts.push_back(count_step(step));
    return counts;
  }

 private:
  Counts count_step(const TuningStep& step) {
    const auto report = [&](double fraction) {
      if (progress_) progress_((cost_done_ + fraction * step.cost()) / cost_of_all_);
    };
    Counts counts;
    if (finished_ < log_.steps().size()) {
      counts = log_.steps()[finished_];
      const std::uint64_t queries = request_.plan.count * request_.plan.shape.total_queries();
      if (counts.size() != step.members.size() || std::ranges::max(counts) > queries)
        log_.refuse_as_damaged();
    } else {
      report(0);
      counts = correct_of_each_member(setting_, step.members, report);
      log_.append(counts);
    }
    ++finished_;
    cost_done_ += step.cost();
    return counts;
  }

  const Tuning& request_;
  const EpisodeSetting& setting_;
  StepLog& log_;
  Progress progress_;
  std::size_t finished_ = 0;
  double cost_done_ = 0;
  double cost_of_all_;
};

}  // namespace

TuningResult tune(const FeatureStore& store, const Tuning& request,
                  const std::filesystem::path& out, const Progress& progress) {
  const Tuning complete = completed(store, request);
  const EpisodeList episodes = draw_episodes(store, kTuningSplit, complete.plan);
  const EpisodeSetting setting = tuning_setting(store, episodes, request.threads);
  const nlohmann::ordered_json description = described(complete, store.sha256(request.threads));
  StepLog log(log_file(out), description);
  LoggedSteps steps(complete, setting, log, progress);
  const std::size_t resumed = log.steps().size();
  TuningResult result;
  try {
    result = choose_members(complete, [&](const auto& stage) { return steps.count(stage); });
  } catch (...) {
    // Nothing to go on from, and it would stand in the way of a better command.
    if (log.steps().empty()) log.remove();
    throw;
  }
  result.resumed_steps = resumed;
  result.steps = steps.finished();
  if (log.steps().size() != steps.finished()) log.refuse_as_damaged();
  AtomicFile file(out);
  file.write(pool_file_text(result, description, store.folder().string()));
  file.commit();
  log.remove();
  return result;
}

}  // namespace deepvoro
