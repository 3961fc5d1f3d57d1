#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "deepvoro/study/tuning_shards.hpp"
#include "ensemble/ensemble.hpp"
#include "study/tuning_pieces.hpp"
#include "study/tuning_settings.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

// Thrown where nothing is left to measure, or what is left follows from pieces that are not there.
struct EndOfShare {};

// Makes pieces of stages as far as they can be known.
class TuningShare {
 public:
  TuningShare(const Tuning& request, const EpisodeSetting& setting, const TuningPieces& pieces,
              PieceDealer& dealer, const PieceFolder& folder, Progress progress)
      : request_(request),
        setting_(setting),
        pieces_(pieces),
        dealer_(dealer),
        folder_(folder),
        progress_(std::move(progress)) {}

  [[nodiscard]] std::size_t made() const { return made_; }
  [[nodiscard]] std::size_t stages_done() const { return stage_; }

  [[nodiscard]] std::vector<Counts> count(const std::vector<TuningStep>& stage) {
    const PieceRange all = pieces_.pieces_of_stage(stage_);
    made_ += dealer_.deal(
        {&all, 1}, [&](PieceRange range) { return folder_.missing(range); },
        [&](PieceRange run, const Progress& progress) { make_steps(stage, run, progress); },
        part_of(progress_, stage_, pieces_.stages()));
    const std::size_t number = stage_++;
    // The last one has nothing behind it: it is read by whoever merges.
    if (stage_ == pieces_.stages() || !folder_.missing(pieces_.pieces_of_stage(number)).empty())
      throw EndOfShare{};
    return counts_of_stage(pieces_, number, stage, request_.plan.shape,
                           [&](std::size_t piece) { return folder_.open(piece); });
  }

 private:
  [[nodiscard]] static std::size_t next_multiple(std::size_t value, std::size_t of) {
    return (value / of + 1) * of;
  }
  [[nodiscard]] std::size_t end_of_step(std::size_t piece) const {
    return next_multiple(piece, pieces_.blocks());
  }

  void make_steps(const std::vector<TuningStep>& stage, PieceRange run, const Progress& progress) {
    std::vector<PieceRange> runs;  // within one step each
    for (; run.size() > 0; run.begin = runs.back().end)
      runs.push_back({run.begin, std::min(run.end, end_of_step(run.begin))});
    for (std::size_t i = 0; i < runs.size(); ++i)
      make(stage[pieces_.step_of(stage_, runs[i].begin)], runs[i],
           part_of(progress, i, runs.size()));
  }

  void make(const TuningStep& step, PieceRange run, const Progress& progress) const {
    std::vector<EpisodeRange> blocks;
    for (std::size_t piece = run.begin; piece < run.end; ++piece) {
      const PieceRange episodes = pieces_.episodes_of(piece);
      blocks.push_back({episodes.begin, episodes.end});
    }
    const std::vector<Counts> counts = correct_in_blocks(setting_, step.members, blocks, progress);
    for (std::size_t i = 0; i < counts.size(); ++i)
      folder_.write(run.begin + i, {{"store", setting_.store.folder().string()}},
                    bytes_of_counts(counts[i]));
  }

  const Tuning& request_;
  const EpisodeSetting& setting_;
  const TuningPieces& pieces_;
  PieceDealer& dealer_;
  const PieceFolder& folder_;
  Progress progress_;
  std::size_t stage_ = 0;
  std::size_t made_ = 0;
};

}  // namespace

ShareReport tune_share(const FeatureStore& store, const Tuning& request, PieceDealer& dealer,
                       const std::filesystem::path& folder, const Progress& progress) {
  const Tuning complete = completed(store, request);
  const EpisodeList episodes = draw_episodes(store, kTuningSplit, complete.plan);
  const EpisodeSetting setting = tuning_setting(store, episodes, request.threads);
  const TuningPieces pieces(complete);
  const PieceFolder made_pieces(
      folder, {{"command", "tune"},
               {kTuningKey, json(described(complete, store.sha256(request.threads)))},
               {"pieces", pieces.count()}});
  TuningShare own(complete, setting, pieces, dealer, made_pieces, progress);
  try {
    (void)choose_members(complete, [&](const auto& stage) { return own.count(stage); });
  } catch (const EndOfShare&) {
  }
  ShareReport report{.made = own.made()};
  for (std::size_t stage = 0; stage < pieces.stages(); ++stage) {
    const PieceRange all = pieces.pieces_of_stage(stage);
    const std::size_t size = dealer.count({&all, 1});
    report.pieces += size;
    if (stage >= own.stages_done()) report.waiting += size;
  }
  return report;
}

}  // namespace deepvoro
