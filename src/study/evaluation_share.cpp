#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/sha256.hpp"
#include "core/stopwatch.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/version.hpp"
#include "deepvoro/study/evaluation_shards.hpp"
#include "ensemble/pool_json.hpp"
#include "shard/piece_folder.hpp"
#include "study/episode_answers.hpp"
#include "study/evaluation_blocks.hpp"
#include "study/evaluation_run.hpp"
#include "study/evaluation_settings.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

void check_can_be_divided(const Evaluation& request) {
  const char* what = request.oracle                    ? "`oracle`"
                     : request.reliability.calibration ? "`calibration`"
                     : request.reliability.open_set    ? "`open_set`"
                     : request.device != "cpu"         ? "`device` cuda"
                                                       : nullptr;
  if (what != nullptr)
    throw usage_error(
        fmt::format("{}: cannot be divided among shards; evaluate without `shard`", what));
}

using Runs = std::vector<std::unique_ptr<EvaluationRun>>;

// Those with the same episodes draw them once.
Runs runs_of(const FeatureStore& store, std::span<const Evaluation> requests) {
  if (requests.empty()) throw usage_error("there is no evaluation to divide");
  Runs runs;
  for (const Evaluation& request : requests) {
    check_can_be_divided(request);
    const auto same = std::ranges::find_if(requests.first(runs.size()), [&](const auto& other) {
      return other.split == request.split && other.plan == request.plan;
    });
    const auto earlier = static_cast<std::size_t>(same - requests.begin());
    runs.push_back(std::make_unique<EvaluationRun>(
        store, request, earlier < runs.size() ? runs[earlier]->stream() : nullptr));
  }
  return runs;
}

json work_of(const FeatureStore& store, std::span<const Evaluation> requests, const Runs& runs) {
  json evaluations = json::array();
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    evaluations.push_back(settings_of(requests[i], runs[i]->pool()));
    pieces = EvaluationBlocks(pieces, requests[i].plan.count).end_piece();
  }
  return {{"command", "evaluate"},
          {"program", {{"version", version()}, {"commit", commit()}}},
          {"store", store.sha256(requests.front().threads)},
          {"evaluations", std::move(evaluations)},
          {"pieces", pieces}};
}

// What all pieces say of who took part, and what the first one alone says.
struct Participants {
  json of_each;
  json of_first;
};

Participants participants(const EvaluationResult& chosen) {
  json first = {{"members", json(to_json(chosen.members))}};
  if (chosen.guidance) {
    first["guidance"] = {{"pool_size", chosen.guidance->pool_size},
                         {"val_accuracy", chosen.guidance->val_accuracy}};
    if (!chosen.guidance->counts.empty()) first["guidance"]["counts"] = chosen.guidance->counts;
  }
  if (chosen.pool_shots)
    first["pool"] = {{"path", chosen.request.pool->string()}, {"shots", *chosen.pool_shots}};
  return {{{"members_sha256", sha256_hex(members_json(chosen.members))}}, std::move(first)};
}

// Makes pieces of one evaluation.
class EvaluationShare {
 public:
  EvaluationShare(const FeatureStore& store, const Evaluation& request,
                  std::unique_ptr<EvaluationRun> run, const EvaluationBlocks& blocks,
                  const PieceFolder& folder)
      : store_(store), request_(request), blocks_(blocks), folder_(folder), run_(std::move(run)) {}

  [[nodiscard]] bool has(std::size_t piece) const { return piece < blocks_.end_piece(); }

  void make(PieceRange pieces, const Progress& progress) {
    if (chosen_) return make_chosen(pieces, 0, progress);
    const bool is_long = chooses_on_val(request_.scheme);
    chosen_ = run_->choose(is_long ? part_of(progress, 0, 2) : Progress());
    make_chosen(pieces, chosen_->selection_seconds, is_long ? part_of(progress, 1, 2) : progress);
  }

 private:
  // A piece is written when its last episode is known, so that a worker that is killed loses
  // little.
  void make_chosen(PieceRange pieces, double selection_seconds, const Progress& progress) const {
    const PieceRange range = blocks_.episodes_of(pieces);
    const Participants who = participants(*chosen_);
    Stopwatch evaluating;
    std::size_t piece = pieces.begin;
    EpisodeAnswers made;
    const ScoreSink keeping = [&](std::span<const double> scores) {
      made.add(scores, request_.plan.shape);
      if (made.accuracy.size() < blocks_.episodes_of({piece, piece + 1}).size()) return;
      json facts = who.of_each;
      if (blocks_.is_first(piece)) facts.update(who.of_first);
      facts["store"] = store_.folder().string();
      facts["threads"] = request_.threads;
      facts["seconds"] = {{"selection", std::exchange(selection_seconds, 0)},
                          {"evaluation", std::exchange(evaluating, Stopwatch()).seconds()}};
      folder_.write(piece++, facts, std::exchange(made, {}).bytes());
    };
    (void)run_->evaluate(run_->episodes(range.begin, range.end), keeping, progress);
  }

  const FeatureStore& store_;
  const Evaluation& request_;
  const EvaluationBlocks& blocks_;
  const PieceFolder& folder_;
  std::unique_ptr<EvaluationRun> run_;
  std::optional<EvaluationResult> chosen_;
};

}  // namespace

ShareReport evaluate_share(const FeatureStore& store, std::span<const Evaluation> requests,
                           PieceDealer& dealer, const std::filesystem::path& folder,
                           const Progress& progress) {
  Runs runs = runs_of(store, requests);
  const PieceFolder pieces(folder, work_of(store, requests, runs));
  std::vector<EvaluationBlocks> blocks;
  std::vector<PieceRange> groups;
  for (const Evaluation& request : requests) {
    blocks.emplace_back(blocks.empty() ? 0 : blocks.back().end_piece(), request.plan.count);
    groups.push_back(blocks.back().pieces());
  }
  // Pieces come in ascending order, so one evaluation is worked on at a time.
  std::size_t evaluation = 0;
  std::optional<EvaluationShare> current;
  const auto make = [&](PieceRange run, const Progress& of_run) {
    if (current && !current->has(run.begin)) current.reset();
    while (run.begin >= blocks[evaluation].end_piece()) ++evaluation;
    if (!current)
      current.emplace(store, requests[evaluation], std::move(runs[evaluation]), blocks[evaluation],
                      pieces);
    current->make(run, of_run);
  };
  const auto missing = [&](PieceRange range) { return pieces.missing(range); };
  return {.pieces = dealer.count(groups), .made = dealer.deal(groups, missing, make, progress)};
}

}  // namespace deepvoro
