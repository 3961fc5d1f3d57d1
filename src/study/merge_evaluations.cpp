#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/sha256.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/study/evaluation_shards.hpp"
#include "deepvoro/study/seen_classes.hpp"
#include "ensemble/pool_json.hpp"
#include "ensemble/selection.hpp"
#include "features/json_fields.hpp"
#include "shard/complete_pieces.hpp"
#include "study/answer_counter.hpp"
#include "study/episode_answers.hpp"
#include "study/evaluation_blocks.hpp"
#include "study/evaluation_run.hpp"
#include "study/evaluation_settings.hpp"
#include "study/store_of_pieces.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

FeatureStore unchanged_store(const CompletePieces& pieces, unsigned threads) {
  const PieceFile first = pieces.open(0);
  const std::string file = pieces.file(0).string();
  FeatureStore store =
      store_of_pieces(JsonFields(first.manifest().facts, file).text("store"), file);
  if (store.sha256(threads) != JsonFields(pieces.work(), file).text("store"))
    throw data_error(
        fmt::format("{}: is no longer the store that the pieces in {} came from; run the shards "
                    "again with another `out`",
                    store.folder().string(), pieces.file(0).parent_path().string()));
  return store;
}

Guidance guidance_of(const JsonFields& fields) {
  Guidance guidance{.pool_size = fields.whole("pool_size", 1),
                    .val_accuracy = fields.number("val_accuracy"),
                    .counts = {}};
  if (!fields.has("counts")) return guidance;
  for (const json& count : fields.list("counts")) {
    if (!count.is_number_unsigned()) fields.fail("counts", "is not a list of whole numbers");
    guidance.counts.push_back(count);
  }
  return guidance;
}

// Puts one evaluation together, a piece at a time.
class EvaluationMerge {
 public:
  EvaluationMerge(const CompletePieces& pieces, const FeatureStore& store, const json& settings,
                  std::size_t first_piece)
      : pieces_(pieces),
        store_(store),
        result_{.request = request_of(settings, pieces.file(0).string())},
        blocks_(first_piece, result_.request.plan.count) {}

  [[nodiscard]] const EvaluationBlocks& blocks() const { return blocks_; }

  EvaluationResult run() {
    const Evaluation& request = result_.request;
    const EpisodeList episodes = draw_episodes(store_, request.split, request.plan);
    AnswerCounter counter(store_, request.split, episodes);
    if (!is_ensemble(request.method)) result_.head = head_of(request, store_);
    const PieceRange all = blocks_.pieces();
    for (std::size_t piece = all.begin; piece < all.end; ++piece) add(piece, counter);
    result_.answers = counter.answers();
    result_.accuracy = estimate(result_.episode_accuracy);
    return std::move(result_);
  }

 private:
  void add(std::size_t piece, AnswerCounter& counter) {
    const PieceFile file = pieces_.open(piece);
    const JsonFields facts(file.manifest().facts, file.where());
    if (blocks_.is_first(piece)) take_participants(file, facts);
    if (facts.text("members_sha256") != members_sha256_)
      throw data_error(
          fmt::format("{}: chose other members on val than {}; delete it and run its "
                      "shard again",
                      file.where(), pieces_.file(blocks_.pieces().begin).string()));
    const JsonFields seconds = facts.object("seconds");
    result_.selection_seconds += seconds.number("selection");
    result_.evaluation_seconds += seconds.number("evaluation");

    EpisodeAnswers read;
    const EpisodeShape& shape = result_.request.plan.shape;
    const std::size_t episodes = blocks_.episodes_of({piece, piece + 1}).size();
    if (!read_episode_answers(file.content(), episodes, shape, read)) file.refuse_as_damaged();
    for (std::size_t e = 0; e < episodes; ++e)
      counter.add(
          std::span(read.answers).subspan(e * shape.total_queries(), shape.total_queries()));
    result_.episode_accuracy.insert(result_.episode_accuracy.end(), read.accuracy.begin(),
                                    read.accuracy.end());
  }

  void take_participants(const PieceFile& file, const JsonFields& facts) {
    result_.request.threads = static_cast<unsigned>(facts.whole("threads", 1));
    members_sha256_ = facts.text("members_sha256");
    if (result_.head) return;
    if (facts.has("pool")) {
      const JsonFields pool = facts.object("pool");
      result_.request.pool = pool.text("path");
      result_.pool_shots = pool.whole("shots", 1);
    }
    result_.members = pool_of(facts.list("members"), file.where());
    if (sha256_hex(members_json(result_.members)) != members_sha256_) file.refuse_as_damaged();
    if (chooses_on_val(result_.request.scheme))
      result_.guidance = guidance_of(facts.object("guidance"));
  }

  const CompletePieces& pieces_;
  const FeatureStore& store_;
  EvaluationResult result_;
  EvaluationBlocks blocks_;
  std::string members_sha256_;
};

}  // namespace

MergedEvaluations merge_evaluations(std::span<const std::filesystem::path> folders,
                                    unsigned threads) {
  const CompletePieces pieces(folders, "evaluate");
  const JsonFields work(pieces.work(), pieces.file(0).string());
  const FeatureStore store = unchanged_store(pieces, threads);
  MergedEvaluations merged{.results = {},
                           .store_path = store.folder().string(),
                           .store_sha256 = work.text("store"),
                           .warning = {}};
  std::size_t first_piece = 0;
  for (const json& settings : work.list("evaluations")) {
    EvaluationMerge merge(pieces, store, settings, first_piece);
    first_piece = merge.blocks().end_piece();
    if (first_piece > pieces.size()) break;
    merged.results.push_back(merge.run());
  }
  if (!merged.results.empty())
    merged.warning = warning_of_seen_classes(store, merged.results.front().request.split);
  if (first_piece != pieces.size()) work.fail("pieces", "is not as many as the evaluations have");
  return merged;
}

}  // namespace deepvoro
