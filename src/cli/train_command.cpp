#include "train_command.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "backbone/collections.hpp"
#include "core/companion_name.hpp"
#include "core/files.hpp"
#include "deepvoro/backbone/training.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "deepvoro/study/few_shot_validation.hpp"
#include "episode_options.hpp"
#include "progress_bar.hpp"
#include "stopped_note.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kTrainFooter = R"(
PICTURES is a collection of pictures of the base classes, or a folder that holds base and, to choose the best epoch
by few-shot accuracy, val. Next to MODEL a log is kept as MODEL.log.csv and MODEL.log.json. Interrupted, the same
command goes on where it was at most 20 seconds before its end, or at the epoch it was in.

Networks: conv4, resnet10, resnet12, resnet18, resnet34, resnet50, wrn-28-10, densenet121,
mobilenet

Examples:
  deepvoro train pictures --backbone conv4 --procedure rotation --out model.safetensors
  deepvoro train pictures --backbone resnet12 --procedure s2m2 --classifier cosine --epochs 120 --out model.safetensors
  deepvoro train birds --backbone wrn-28-10 --procedure s2m2 --size 152 --first-stride 2 --average 0.999 --out wrn.safetensors
  deepvoro train digits --backbone conv4 --procedure softmax --size 56 --embedding 2 --out plane.safetensors)";

// Shows the progress and keeps the log.
class CommandMonitor final : public TrainingMonitor {
 public:
  CommandMonitor(std::string label, fs::path model, std::optional<FewShotValidation> validation)
      : bar_(std::move(label)),
        show_(bar_.callback()),
        model_(std::move(model)),
        validation_(std::move(validation)) {}

  void step(double fraction, double pictures_per_second, double loss) override {
    if (!show_) return;
    bar_.set_note(fmt::format("{:.0f} pictures/s, loss {:.3f}", pictures_per_second, loss));
    show_(fraction);
  }

  void epoch(const std::vector<EpochReport>& all) override {
    std::string csv = "epoch,loss,accuracy,rate,seconds,pictures_per_second,val_accuracy\n";
    json list = json::array();
    for (const EpochReport& report : all) {
      const auto& [epoch, loss, accuracy, rate, seconds, speed, val] = report;
      csv += fmt::format("{},{:.6f},{:.4f},{:.6g},{:.3f},{:.1f},{}\n", epoch, loss, accuracy, rate,
                         seconds, speed, val ? fmt::format("{:.4f}", *val) : "");
      list.push_back({{"epoch", epoch},
                      {"loss", loss},
                      {"accuracy", accuracy},
                      {"rate", rate},
                      {"seconds", seconds},
                      {"pictures_per_second", speed},
                      {"val_accuracy", val ? json(*val) : json()}});
    }
    write(".log.csv", csv);
    write(".log.json", list.dump(1) + "\n");
    best_ = {};
    for (const EpochReport& report : all)
      if (report.val_accuracy_percent &&
          (!best_ || *report.val_accuracy_percent > *best_->val_accuracy_percent))
        best_ = report;
    last_ = all.back();
  }

  [[nodiscard]] std::optional<double> validate(Backbone& backbone) override {
    if (!validation_) return std::nullopt;
    return validation_->accuracy_percent(backbone);
  }

  [[nodiscard]] const std::optional<EpochReport>& best() const { return best_; }
  [[nodiscard]] const std::optional<EpochReport>& last() const { return last_; }

 private:
  void write(const char* ending, const std::string& text) const {
    AtomicFile out(companion_name(model_, ending));
    out.write(text);
    out.commit();
  }

  ProgressBar bar_;
  Progress show_;
  fs::path model_;
  std::optional<FewShotValidation> validation_;
  std::optional<EpochReport> best_;
  std::optional<EpochReport> last_;
};

struct TrainCommand {
  std::string pictures;
  std::string procedure;
  std::string classifier = "linear";
  std::string optimiser = "sgd";
  std::string out;
  std::optional<double> rate;
  bool no_flip = false;
  TrainingOptions options;

  void run();
};

void TrainCommand::run() {
  options.procedure = procedure_named(procedure);
  options.classifier = classifier == "cosine" ? ClassifierKind::cosine : ClassifierKind::linear;
  options.optimiser = optimiser == "adam" ? OptimiserKind::adam : OptimiserKind::sgd;
  constexpr double adam_rate = 0.001;
  if (options.optimiser == OptimiserKind::adam) options.rate = adam_rate;
  options.rate = rate.value_or(options.rate);
  options.flip = !no_flip;
  check(options);
  const BackboneLibrary& library = backbone_library();
  const fs::path partial = companion_name(out, ".partial");
  if (fs::exists(out) && !fs::exists(partial))
    throw data_error(
        fmt::format("{}: already exists; delete it to train again, or choose another --out", out));
  { const AtomicFile shows_early_whether_it_can_be_written(out); }

  const auto splits = split_collections(pictures);
  check_nothing_beside(pictures, splits);
  if (!splits.empty() && !splits.contains("base"))
    throw data_error(fmt::format("{}: has no split base to train on", pictures));
  const fs::path base = splits.empty() ? fs::path(pictures) : splits.at("base");
  const TrainingSet set = read_training_set(base, options);
  std::optional<FewShotValidation> validation;
  if (splits.contains("val"))
    validation.emplace(splits.at("val"), options.size, companion_name(out, ".val"),
                       options.compute.threads);

  std::optional<CommandMonitor> monitor(std::in_place,
                                        fmt::format("train {}", options.architecture.name), out,
                                        std::move(validation));
  {
    const StoppedNote note(partial);
    library.train(set, options, out, *monitor);
  }
  const auto last = monitor->last();
  const auto best = monitor->best();
  monitor.reset();

  fmt::print("{}: {} by {} on {} pictures of {} classes", out, options.architecture.name, procedure,
             set.size(), set.classes);
  if (last)
    fmt::print(", {} epochs, loss {:.3f}, {:.0f} pictures/s", last->epoch, last->loss,
               last->pictures_per_second);
  if (best)
    fmt::print("; epoch {} is the best on val, {:.2f} % (mean of 1 and 5 shots)", best->epoch,
               *best->val_accuracy_percent);
  fmt::print("\n");
}

}  // namespace

void add_train_command(CLI::App& program) {
  auto command = std::make_shared<TrainCommand>();
  TrainingOptions& options = command->options;
  CLI::App* app = program.add_subcommand("train", "train a network on pictures of base classes");
  app->footer(kTrainFooter);
  app->add_option("PICTURES", command->pictures,
                  "pictures: a collection, or a folder with base and val")
      ->required();
  app->add_option("--backbone", options.architecture.name, "name of the network")->required();
  app->add_option("--procedure", command->procedure, "softmax, rotation, mixup or s2m2")
      ->required();
  app->add_option("--out", command->out, "model file to write (.safetensors)")->required();
  const auto whole = [&](const char* name, auto& value, const char* help) {
    return app->add_option(name, value, help)->check(whole_number())->capture_default_str();
  };
  whole("--epochs", options.epochs, "how often every picture is seen");
  whole("--batch", options.batch, "pictures per step");
  app->add_option("--rate", command->rate, "learning rate at its highest [0.05; adam 0.001]");
  app->add_option("--weight-decay", options.weight_decay, "weight decay")->capture_default_str();
  app->add_option("--optimiser,--optimizer", command->optimiser, "sgd (with momentum) or adam")
      ->check(CLI::IsMember({"sgd", "adam"}))
      ->capture_default_str();
  app->add_option("--classifier", command->classifier, "linear or cosine")
      ->check(CLI::IsMember({"linear", "cosine"}))
      ->capture_default_str();
  whole("--size", options.size, "side of the pictures the network sees, in pixels");
  app->add_option("--width", options.architecture.widths,
                  "channels of the four blocks of conv4, separated by commas [64,64,64,64]")
      ->delimiter(',')
      ->allow_extra_args(false);
  whole("--embedding", options.architecture.embedding,
        "dimensions of a linear map at the end; 0 for none");
  whole("--first-stride", options.architecture.first_stride,
        "stride of the first convolution; 2 for pictures of twice the size at the same cost");
  app->add_option("--smallest-crop", options.smallest_crop,
                  "smallest share of a picture that a random crop keeps")
      ->capture_default_str();
  app->add_option("--jitter", options.jitter,
                  "random change of brightness, contrast and saturation")
      ->capture_default_str();
  app->add_flag("--no-flip", command->no_flip, "never mirror pictures");
  app->add_flag(
      "--all-turns", options.all_turns,
      "rotate a quarter of a batch in all four ways, instead of each picture in a random one");
  app->add_option("--dropout", options.dropout, "dropout between the convolutions of wide networks")
      ->capture_default_str();
  app->add_option("--average", options.average,
                  "decay of the moving average of the weights, which is what is written then, such "
                  "as 0.999; 0 for none")
      ->capture_default_str();
  whole("--seed", options.seed, "seed of the weights, the order and the augmentation");
  whole("--validate-every", options.validate_every, "epochs between validations");
  app->add_option("--device", options.compute.device, "cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  options.compute.threads = available_threads();
  whole("--threads", options.compute.threads, "threads");
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
