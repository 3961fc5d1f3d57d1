#include "fit_command.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "classifier_options.hpp"
#include "classifier_text.hpp"
#include "core/files.hpp"
#include "core/stopwatch.hpp"
#include "core/text.hpp"
#include "deepvoro/classifier/describe.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/ensemble/pool.hpp"

namespace deepvoro {
namespace {

constexpr const char* kFitFooter = R"(
SUPPORT is a folder with a folder of pictures for each class (or another collection that 'deepvoro extract' reads), or a
feature store. One picture per class is enough; numbers may differ.

Examples:
  deepvoro fit birds --out birds.dv
  deepvoro predict birds.dv unknown/*.jpg
  deepvoro fit birds --views 16 --out birds.dv
  deepvoro fit sketches --method plda --out sketches.dv
  deepvoro fit sketches --backbone my-model.safetensors --out sketches.dv
  deepvoro fit features --split novel --out features.dv)";

struct FitCommand {
  std::string support;
  std::string out;
  std::string pool;
  std::string method;
  bool as_json = false;
  bool force = false;
  PictureFit fit;
  PictureFlags flags;

  void run();

 private:
  void check_files() const;
  [[nodiscard]] Classifier of_store() const;
  [[nodiscard]] Classifier of_pictures();
};

Classifier FitCommand::of_store() const {
  const FeatureStore store{support};
  store.refuse_output_inside("--out", out);
  if (!flags.looking.backbone.empty())
    throw usage_error("--backbone: a feature store already has features");
  refuse_fast_decode_of_features(flags.looking.fast_decode);
  return Classifier::fit(store, flags.split, fit.pool, flags.looking.threads, fit.method);
}

Classifier FitCommand::of_pictures() {
  LookingDisplay display;
  if (!as_json)
    flags.looking.events.loaded = [](const BackboneChoice& choice, std::size_t views) {
      fmt::print("backbone {}: {}; {}\n", choice.name, choice.reason, counted(views, "view"));
    };
  fit.folders = flags.folders();
  fit.pictures = display.shown(flags.looking);
  std::optional<Stopwatch> fitting;
  fit.pictures.events.looked = [&, show = fit.pictures.events.looked](const LookedAt& result) {
    show(result);
    fitting.emplace();
  };
  Classifier classifier = Classifier::fit_pictures(support, fit);
  if (as_json) return classifier;
  const LookedAt& looked = display.result();
  fmt::print("{} in {:.1f} s ({:.1f} pictures/s), fitted in {:.2f} s\n",
             counted(looked.pictures, "picture"), looked.seconds,
             static_cast<double>(looked.pictures) / looked.seconds, fitting->seconds());
  return classifier;
}

void FitCommand::check_files() const {
  namespace fs = std::filesystem;
  std::error_code unreadable;
  const bool makes_of_classifier = Classifier::is_classifier(support);
  if (fs::is_directory(out, unreadable)) {
    if (makes_of_classifier || !fs::exists(support, unreadable))
      throw usage_error(
          fmt::format("the pictures come first: deepvoro fit {} --out {}", out, support));
    throw usage_error(fmt::format("--out {}: is a folder; name a file, such as {}.dv", out,
                                  fs::path(out).lexically_normal().string()));
  }
  if (makes_of_classifier)
    throw usage_error(fmt::format(
        "{}: is a classifier already; fit takes pictures, and 'deepvoro add' adds to it", support));
  refuse_feature_file(support);
  if (force || !fs::exists(out, unreadable)) return;
  if (Classifier::is_classifier(out))
    throw usage_error(
        fmt::format("--out {0}: is there already, with all that was added to it; "
                    "--force replaces it ('deepvoro info {0}' shows it)",
                    out));
  throw usage_error(fmt::format(
      "--out {}: is there already and is not a classifier; choose another name, or --force "
      "replaces it",
      out));
}

void FitCommand::run() {
  check_files();
  { const AtomicFile shows_early_whether_it_can_be_written(out); }
  if (!method.empty()) fit.method = fit_method_named(method);
  if (!pool.empty()) fit.pool = read_pool(pool);
  const Classifier classifier = is_store(support) ? of_store() : of_pictures();
  classifier.save(out);
  if (as_json) {
    fmt::print("{}\n", info_json(classifier));
    return;
  }
  print_summary(out, classifier);
  print_details(classifier);
}

}  // namespace

void add_fit_command(CLI::App& program) {
  auto command = std::make_shared<FitCommand>();
  CLI::App* app = program.add_subcommand("fit", "make a classifier from a few pictures per class");
  app->footer(kFitFooter);
  app->add_option("SUPPORT", command->support,
                  "a folder of pictures per class or another collection, or a feature store")
      ->required();
  app->add_option("-o,--out", command->out, "classifier file to write (.dv)")->required();
  app->add_flag("--force", command->force, "replace the file where it is there already");
  app->add_flag("--json", command->as_json, "print what came of it as JSON");
  app->add_option("--views", command->fit.views,
                  "views of each picture: 1, 4, 8, 16, 64, or names separated by commas")
      ->capture_default_str();
  app->add_option("--method", command->method,
                  "ridge-vd (a ridge regression and the nearest class mean, together), deepvoro "
                  "(every view with eight transformations), or plda (every view, whitened by "
                  "statistics of the network, or by the split base of a store) [ridge-vd]");
  app->add_option("--pool", command->pool, "JSON file of members, instead of a method");
  command->flags.add_leaves_to(*app);
  command->flags.add_to(
      *app, "name or file of a model [photographs: resnet50; drawings: quickdraw-conv4]");
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
