#include "tune_command.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/companion_name.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/study/tune.hpp"
#include "deepvoro/study/tuning_shards.hpp"
#include "episode_options.hpp"
#include "progress_bar.hpp"
#include "shard_options.hpp"
#include "stopped_note.hpp"
#include "tuning_text.hpp"

namespace deepvoro {
namespace {

constexpr const char* kTuneFooter = R"(
Everything is chosen on episodes of the split val. deepvoro: the best transformations on all views.
deepvoro++: the best two of them, and for each R the best beta. vd: the best transformation on the
first view. plda: shrinkage and kappa that are best on the mean of the views, of each network its
own, then every view and their mean with every transformation. Interrupted, the same command goes on where it stopped.

Examples:
  deepvoro tune data/quickdraw --method deepvoro --shots 5 --out pool.json
  deepvoro evaluate data/quickdraw --method deepvoro --shots 5 --pool pool.json
  deepvoro tune data/quickdraw --method deepvoro++ --shots 1 --betas 1,2,4,8 --out pool.json
  deepvoro tune data/quickdraw --method deepvoro --shots 5 --shard 0/8 --out pieces)";

struct TuneCommand {
  std::string store;
  std::string method;
  std::string split = "val";
  std::string out;
  std::string shard;
  EpisodeOptions episodes;
  Tuning request;
  const CLI::Option* lambdas = nullptr;
  const CLI::Option* biases = nullptr;

  void run() const;

 private:
  void run_share(const Tuning& tuning) const;
};

template <class T>
CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<T>& values,
                      const std::string& help) {
  return app.add_option(name, values, help)->delimiter(',')->allow_extra_args(false);
}

// evaluate takes several, so they may be tried here.
CLI::Validator one_number_of_shots() {
  return {[](const std::string& text) {
            return text.find(',') == std::string::npos
                       ? std::string()
                       : fmt::format("tune takes one number of shots at a time, not {}", text);
          },
          ""};
}

void TuneCommand::run_share(const Tuning& tuning) const {
  run_shard(shard, out, [&](PieceDealer& dealer, const Progress& progress) {
    const FeatureStore features(store);
    features.refuse_output_inside("--out", out);
    return tune_share(features, tuning, dealer, out, progress);
  });
}

void TuneCommand::run() const {
  if (split != "val")
    throw usage_error(fmt::format(
        "--split {}: tune chooses on val alone; what is chosen on the classes that are evaluated "
        "afterwards is test leakage",
        split));
  Tuning tuning = request;
  tuning.method = method_named(method);
  const TuningGrid defaults = default_grid(tuning.method);
  if (lambdas->count() == 0) tuning.grid.lambdas = defaults.lambdas;
  if (biases->count() == 0) tuning.grid.biases = defaults.biases;
  tuning.plan = episodes.resolved();
  check(tuning);
  if (!shard.empty()) return run_share(tuning);
  const FeatureStore features(store);
  features.refuse_output_inside("--out", out);
  std::optional<ProgressBar> bar(fmt::format("tune {}, {}-shot", method, tuning.plan.shape.shots));
  std::optional<StoppedNote> note(companion_name(out, ".partial"));
  const TuningResult result = tune(features, tuning, out, bar->callback());
  note.reset();
  bar.reset();

  if (result.resumed_steps > 0)
    fmt::print(stderr, "continued after {} of {} steps of an earlier run\n", result.resumed_steps,
               result.steps);
  print_tuning(tuning, result, store, out);
}

}  // namespace

void add_tune_command(CLI::App& program) {
  auto command = std::make_shared<TuneCommand>();
  Tuning& request = command->request;
  TuningGrid& grid = request.grid;

  CLI::App* app = program.add_subcommand("tune", "choose the members of a method on the split val");
  app->footer(kTuneFooter);
  app->add_option("STORE", command->store, "feature store (a folder) with a split val")->required();
  app->add_option("--method", command->method, "vd, deepvoro, deepvoro++ or plda")->required();
  app->add_option(kShotsNames, command->episodes.plan.shape.shots,
                  "labelled samples per class, as in the evaluation to come")
      ->required()
      ->check(one_number_of_shots())
      ->check(whole_number());
  app->add_option("--out", command->out, "pool file to write, for deepvoro evaluate --pool")
      ->required();
  add_shard_option(*app, command->shard);
  add_episode_options(*app, command->episodes, "seed of the episodes");
  app->add_option("--top-k", request.top_k, "transformations to take [8; deepvoro++ 2; plda all]")
      ->check(whole_number());
  add_list(*app, "--views", request.views, "views to take, separated by commas [all]");
  command->lambdas =
      add_list(*app, "--lambdas", grid.lambdas,
               "powers to try; 0 is the logarithm, tried with every one of --biases; plda: 0,0.5,1")
          ->capture_default_str();
  command->biases =
      add_list(*app, "--biases", grid.biases, "b to try with the logarithm; plda: 0.02,0.1")
          ->capture_default_str();
  add_list(*app, "--neighbours", grid.neighbours, "R of deepvoro++, all of them taken")
      ->check(whole_number())
      ->capture_default_str();
  add_list(*app, "--betas", grid.betas, "beta to try for each R of deepvoro++")
      ->capture_default_str();
  add_list(*app, "--shrink-within", grid.shrink_within,
           "of plda: how far to shrink the covariance within classes")
      ->capture_default_str();
  add_list(*app, "--shrink-between", grid.shrink_between,
           "of plda: how far to shrink the covariance of class centers")
      ->capture_default_str();
  add_list(*app, "--kappas", grid.kappas,
           "of plda: what to divide the covariance of class centers by")
      ->capture_default_str();
  app->add_flag("--signed", request.is_signed,
                "signed transformations, for features with negative values (CLIP, DINO)");
  add_threads_option(*app, request.threads);
  // Only there to say why it is not there.
  app->add_option("--split", command->split)->group("");
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
