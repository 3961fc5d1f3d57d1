#include "extract_command.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "classifier_options.hpp"
#include "core/text.hpp"
#include "deepvoro/backbone/extraction.hpp"
#include "deepvoro/backbone/extraction_shards.hpp"
#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "episode_options.hpp"
#include "flag_text.hpp"
#include "onnxruntime_option.hpp"
#include "progress_bar.hpp"
#include "shard_options.hpp"
#include "stopped_note.hpp"

namespace deepvoro {
namespace {

constexpr const char* kExtractFooter = R"(
PICTURES is a collection of pictures (a folder per class, a .tar, .tar.gz or .zip of one, a .json or
.csv list, an idx file), a folder of pictures without classes, or a folder
that holds base, val and novel, each such a collection. The store keeps the names of the pictures
('deepvoro store info --rows'). Interrupted, the same command goes on where it
stopped; with further --views it adds them. A store never mixes models, sizes or pictures.

Examples:
  deepvoro extract pictures --model model.safetensors --views 64 --out features
  deepvoro extract birds/novel --split novel --model model.safetensors --views s84_r0_f0,s84_r0_f1 --out features
  deepvoro extract pictures --model dino.ts --size 224 --views 8 --out features --skip-bad
  deepvoro extract pictures --model model.safetensors --views 64 --shard 0/8 --out pieces)";

struct ExtractCommand {
  std::string model;
  std::string views = "64";
  std::string size_rule = "release";
  std::string shard;
  std::optional<std::size_t> size;
  ComputeOptions compute;
  Extraction request;

  void run();

 private:
  void run_whole(Backbone& backbone) const;
  void run_share();
  // The views depend on what the network takes.
  [[nodiscard]] std::unique_ptr<Backbone> opened_network();
};

void print_remarks(const std::vector<std::string>& notes, const std::vector<std::string>& skipped) {
  for (const std::string& noticed : notes) fmt::print(stderr, "note: {}\n", with_flags(noticed));
  for (const std::string& picture : skipped)
    fmt::print(stderr, "skipped {}\n", with_flags(picture));
}

void ExtractCommand::run() {
  check_number_of_views(views);
  if (compute.threads == 0) throw usage_error("--threads must be at least 1");
  if (size && (*size == 0 || *size > 4096))
    throw usage_error(fmt::format("--size {}: pictures have 1 to 4096 pixels", *size));
  request.size_rule = size_rule == "paper" ? SizeRule::paper : SizeRule::release;
  request.threads = compute.threads;
  compute.input_size = size.value_or(compute.input_size);
  request.device = compute.device;
  if (shard.empty())
    run_whole(*opened_network());
  else
    run_share();
}

std::unique_ptr<Backbone> ExtractCommand::opened_network() {
  request.model = backbone_file(model);
  std::unique_ptr<Backbone> backbone = open_network(request.model, compute);
  request.views = parse_views(views, request.size_rule, size.value_or(backbone->input_size()));
  return backbone;
}

void ExtractCommand::run_share() {
  run_shard(shard, request.out.string(), [this](PieceDealer& dealer, const Progress& progress) {
    const std::unique_ptr<Backbone> backbone = opened_network();
    const ExtractedShare done = extract_share(request, *backbone, dealer, progress);
    if (dealer.speaks()) print_remarks(done.notes, done.skipped);
    return done.report;
  });
}

void ExtractCommand::run_whole(Backbone& backbone) const {
  std::optional<ProgressBar> bar("extract");
  ExtractionProgress progress;
  if (const Progress show = bar->callback())
    progress = [&bar, show](double fraction, double pictures_per_second) {
      bar->set_note(fmt::format("{:.0f} pictures/s", pictures_per_second));
      show(fraction);
    };
  std::optional<StoppedNote> note((request.out / "store.json").string());
  const ExtractionResult result = extract(request, backbone, progress);
  note.reset();
  bar.reset();

  print_remarks(result.notes, result.skipped);
  if (result.views_before > 0)
    fmt::print(stderr, "{} of {} views already existed\n", result.views_before,
               request.views.size());
  fmt::print("{}: {} of {} dimensions added", request.out.string(),
             counted(result.views_made, "view"), backbone.dim());
  if (result.views_made > 0)
    fmt::print(", {} in {} in {:.1f} s, {:.0f} pictures/s per view",
               counted(result.pictures / result.views_made, "picture"),
               counted(result.views_made, "view"), result.seconds, result.pictures_per_second);
  if (!result.skipped.empty())
    fmt::print(", {} skipped", counted(result.skipped.size(), "picture"));
  fmt::print("\n");
}

}  // namespace

void add_extract_command(CLI::App& program) {
  auto command = std::make_shared<ExtractCommand>();
  Extraction& request = command->request;
  CLI::App* app = program.add_subcommand(
      "extract", "extract features of pictures with a network, into a feature store");
  app->footer(kExtractFooter);
  app->add_option("PICTURES", request.pictures, "pictures: a collection, or a folder of splits")
      ->required();
  app->add_option("--model", command->model,
                  "name of an installed backbone, model file of deepvoro train, or a TorchScript "
                  "module (.ts, .pt, .pth)")
      ->required();
  app->add_option("--out", request.out, "feature store to create or to continue")->required();
  add_shard_option(*app, command->shard);
  app->add_option("--views", command->views,
                  "64 (all), 16 (sizes and flips), 8 (turns and flips of one size), 4 (flips of "
                  "two close sizes), 1, or names separated by commas")
      ->capture_default_str();
  app->add_option("--split", request.split,
                  "split of a single collection, or the only split to extract [novel; all]");
  app->add_option("--size-rule", command->size_rule,
                  "release: crop the view's size from 1.15 times that size; paper: crop 84 from "
                  "the view's size")
      ->check(CLI::IsMember({"release", "paper"}))
      ->capture_default_str();
  app->add_option("--size", command->size,
                  "size of the first view [what the model was trained on; TorchScript: 224]")
      ->check(whole_number());
  app->add_option("--batch", request.batch, "pictures per batch")
      ->check(whole_number())
      ->capture_default_str();
  app->add_option("--device", command->compute.device, "cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  add_onnxruntime_option(*app);
  app->add_flag_callback(
      "--leaves", [&request] { request.folders = ClassFolders::inner; },
      "where folders have folders in them, every one that holds pictures is a class");
  add_fast_decode_flag(*app, request.fast_decode);
  app->add_flag("--skip-bad", request.skip_bad, "skip pictures that cannot be read");
  command->compute.threads = available_threads();
  app->add_option("--threads", command->compute.threads, "threads")
      ->check(whole_number())
      ->capture_default_str();
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
