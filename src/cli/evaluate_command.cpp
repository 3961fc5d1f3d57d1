#include "evaluate_command.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deepvoro/core/error.hpp"
#include "deepvoro/study/evaluate.hpp"
#include "deepvoro/study/evaluation_shards.hpp"
#include "deepvoro/study/seen_classes.hpp"
#include "deepvoro/study/series.hpp"
#include "episode_options.hpp"
#include "evaluation_text.hpp"
#include "progress_bar.hpp"
#include "shard_options.hpp"

namespace deepvoro {
namespace {

constexpr const char* kEvaluateFooter = R"(
Ensembles: vd (nearest prototype, first view), deepvoro (every view x eight transformations),
deepvoro++ (the same with surrogate representation; needs the split base), plda (every view,
whitened by the base classes; needs the split base). The view 'mean' is the mean of all views.
Heads, fitted on one view: power-lr, voronoi-lr (logistic regression as a Power or Voronoi diagram),
deepvoro-- (two centers a class: prototype and --lr), simpleshot (nearest mean, --normalisation),
pt-ncm (power transform, nearest mean), s2m2 (cosine classifier), dc (distribution calibration;
needs the split base, as does simpleshot with cl2n).

Examples:
  deepvoro evaluate data/quickdraw --method deepvoro --shots 5
  deepvoro evaluate data/quickdraw --method vd,deepvoro,deepvoro++ --shots 1,5 --json results.json
  deepvoro evaluate data/quickdraw --method deepvoro --scheme guided --oracle
  deepvoro evaluate data/quickdraw --method plda --scheme greedy
  deepvoro evaluate data/quickdraw --method vd,deepvoro --shots 1,5 --calibration --open-set
  deepvoro evaluate data/quickdraw --method vd,voronoi-lr,deepvoro--,simpleshot --shots 1,5
  deepvoro evaluate data/quickdraw --method deepvoro --shots 5 --device cuda
  deepvoro evaluate data/quickdraw --method deepvoro --shots 5 --shard 0/8 --out pieces)";

struct EvaluateCommand {
  std::string store;
  EpisodeOptions episodes;
  std::string scheme = "full";
  std::string pool;
  std::string preset;
  std::string views = "all";
  std::string view;
  std::string lr;
  std::string start;
  std::string normalisation;
  std::string json;
  std::string scores;
  std::string shard;
  std::string out;
  EvaluationSeries series;

  void run() const;

 private:
  void run_share(const std::vector<Evaluation>& all) const;
  void warn_of_seen_classes(const FeatureStore& features) const;
  [[nodiscard]] std::vector<Evaluation> requests() const;
};

std::vector<Evaluation> EvaluateCommand::requests() const {
  EvaluationSeries all = series;
  all.common.plan = episodes.resolved();
  all.common.scheme = scheme_named(scheme);
  if (!pool.empty()) all.common.pool = pool;
  if (!preset.empty()) all.common.preset = preset_named(preset);
  all.common.release_views = views == "release";
  if (!view.empty()) all.common.view = view;
  if (!lr.empty()) all.lr = logistic_kind_named(lr);
  if (!start.empty()) all.start = logistic_start_named(start);
  if (!normalisation.empty()) all.normalisation = normalisation_named(normalisation);
  return all.evaluations();
}

void EvaluateCommand::warn_of_seen_classes(const FeatureStore& features) const {
  if (const auto warning = warning_of_seen_classes(features, series.common.split))
    fmt::print(stderr, "deepvoro: {}\n", *warning);
}

void EvaluateCommand::run_share(const std::vector<Evaluation>& all) const {
  if (!json.empty() || !scores.empty())
    throw usage_error(
        fmt::format("--{}: a share has no result yet; make pieces with --shard and --out, then "
                    "'deepvoro merge {} --json FILE'",
                    json.empty() ? "scores" : "json", out));
  run_shard(shard, out, [&](PieceDealer& dealer, const Progress& progress) {
    const FeatureStore features(store);
    features.refuse_output_inside("--out", out);
    if (dealer.speaks()) {
      warn_of_seen_classes(features);
      if (!pool.empty())
        for (const std::size_t asked : series.shots)
          note_other_shots(pool, tuned_shots(pool), asked);
    }
    return evaluate_share(features, all, dealer, out, progress);
  });
}

void EvaluateCommand::run() const {
  const std::vector<Evaluation> all = requests();
  if (all.size() > 1 && !scores.empty())
    throw usage_error("--scores takes one method and one number of shots at a time");
  if (shard.empty() != out.empty())
    throw usage_error("--shard and --out go together: a share, and the folder of its pieces");
  if (!shard.empty()) return run_share(all);
  const FeatureStore features(store);
  if (!json.empty()) features.refuse_output_inside("--json", json);
  if (!scores.empty()) features.refuse_output_inside("--scores", scores);
  warn_of_seen_classes(features);
  std::optional<ResultFile> result_file;
  if (!json.empty()) result_file.emplace(json, features, series.common.threads);
  std::optional<ScoresFile> scores_file;
  ScoreSink sink;
  if (!scores.empty()) {
    scores_file.emplace(scores, all.front().plan);
    sink = [&](std::span<const double> values) { scores_file->append(values); };
  }
  std::vector<EvaluationResult> results;
  for (const Evaluation& one : all) {
    ProgressBar bar(fmt::format("{}, {}-shot", name(one.method), one.plan.shape.shots));
    results.push_back(evaluate(features, one, sink, bar.callback()));
  }
  if (scores_file) scores_file->commit();
  if (result_file) result_file->write(results);

  print_evaluations(results, store);
}

}  // namespace

void add_evaluate_command(CLI::App& program) {
  auto command = std::make_shared<EvaluateCommand>();
  EvaluationSeries& series = command->series;
  Evaluation& request = series.common;

  CLI::App* app = program.add_subcommand(
      "evaluate", "accuracy of methods on few-shot episodes drawn from a feature store");
  app->footer(kEvaluateFooter);
  app->add_option("STORE", command->store, "feature store (a folder)")->required();
  app->add_option("--method", series.methods,
                  "vd, power-lr, voronoi-lr, deepvoro--, deepvoro, deepvoro++, simpleshot, pt-ncm, "
                  "s2m2, dc, plda; several, separated by commas, are compared with the first")
      ->required()
      ->delimiter(',')
      ->allow_extra_args(false);
  app->add_option(kShotsNames, series.shots,
                  "labelled samples per class; several separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_number())
      ->capture_default_str();
  add_episode_options(*app, command->episodes, "seed of the episodes and of scheme random");
  app->add_option("--split", request.split, "novel, val or base")->capture_default_str();
  app->add_option(
         "--scheme", command->scheme,
         "which members take part: full, random (needs --size), guided (the best on val), greedy "
         "(one after the other on val, some several times)")
      ->capture_default_str();
  app->add_option("--size", request.size, "number of members for random, or to fix that of guided")
      ->check(whole_number());
  app->add_option("--pool", command->pool, "JSON file of members, instead of the method's own");
  app->add_option(
      "--preset", command->preset,
      "of deepvoro and deepvoro++: transformations, b0 and beta published for mini, cub "
      "or tiered, at this number of shots");
  app->add_option("--views", command->views,
                  "of ensembles: all views of the store, or release, those of the authors' release "
                  "(an upright view of each size twice, flips half a turn further)")
      ->check(CLI::IsMember({"all", "release"}))
      ->capture_default_str();
  app->add_option("--view", command->view, "view of vd and of heads, instead of the first");
  app->add_option("--lr", command->lr,
                  "logistic regression of deepvoro--: voronoi (default) or power");
  app->add_option("--epochs", series.epochs,
                  fmt::format("of power-lr, voronoi-lr and deepvoro-- (default {})",
                              LogisticOptions::kDefaultEpochs))
      ->check(whole_number());
  app->add_option("--weight-decay", series.weight_decay,
                  "of the same, added to the gradient (default 0; the authors' release: 0.01)");
  app->add_option("--start", command->start,
                  "of the same: prototypes (default) or random (the authors' release)");
  app->add_flag("--sigmoid", series.sigmoid,
                "of the same: train through a sigmoid of the logits (the authors' release)");
  app->add_option("--normalisation", command->normalisation,
                  "of simpleshot: un, l2n or cl2n (default), centered and of unit length");
  app->add_option("--alpha", request.alpha,
                  "exponent of the influence function of ensembles and deepvoro--, not 0")
      ->capture_default_str();
  app->add_flag("--signed", request.is_signed,
                "signed transformations, for features with negative values (CLIP, DINO)");
  app->add_flag("--oracle", request.oracle,
                "with guided: also print the size chosen on the evaluated split (test leakage)");
  app->add_flag("--calibration", request.reliability.calibration,
                "of vd and deepvoro: how far the probabilities of a classifier can be trusted");
  app->add_flag("--open-set", request.reliability.open_set,
                "of vd and deepvoro: how well queries of unknown classes are recognised");
  add_threads_option(*app, request.threads);
  app->add_option(
         "--device", request.device,
         "cpu or cuda, where ensembles are added up; members are chosen on the CPU, and heads "
         "run there")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  add_shard_option(*app, command->shard);
  app->add_option("--out", command->out, "with --shard: folder of the pieces of all shares");
  app->add_option("--json", command->json, "write the result to this file")->check(name_of_file());
  app->add_option("--scores", command->scores,
                  "write the influence of every class on every query to this .npy file");
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
