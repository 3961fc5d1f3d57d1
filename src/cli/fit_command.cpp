#include "fit_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "classifier_options.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/files.hpp"
#include "deepvoro/core/stopwatch.hpp"
#include "deepvoro/ensemble/pool.hpp"
#include "deepvoro/image/view.hpp"
#include "stopped_note.hpp"

namespace deepvoro {
namespace {

constexpr const char* kFooter = R"(
SUPPORT is a folder with a folder of pictures for each class (or another collection that 'deepvoro extract' reads), or a
feature store. One picture a class is enough; numbers may differ.

Examples:
  deepvoro fit birds --out birds.dv
  deepvoro predict birds.dv unknown/*.jpg
  deepvoro fit birds --views 16 --out birds.dv
  deepvoro fit sketches --backbone my-model.safetensors --out sketches.dv
  deepvoro fit features --split novel --out features.dv)";

struct FitCommand {
  std::string support;
  std::string out;
  std::string views = "4";
  std::string pool;
  PictureOptions options;

  void run();

 private:
  [[nodiscard]] Classifier of_store() const;
  [[nodiscard]] Classifier of_pictures() const;
  [[nodiscard]] Pool members() const { return pool.empty() ? Pool() : read_pool(pool); }
};

Classifier FitCommand::of_store() const {
  const FeatureStore store{support};
  store.refuse_output_inside("--out", out);
  if (!options.backbone.empty())
    throw usage_error("--backbone: a feature store has its features already");
  const std::string split = split_of(store, options.split);
  const StoreRows rows = read_rows(store, split, store.views());
  const NamedSamples samples{.classes = store.split(split).classes,
                             .labels = store.labels(split),
                             .names = {},
                             .rows = rows.rows()};
  return Classifier::fit(samples, {store.views(), members(), {"", model_of(store), "{}"}},
                         options.threads);
}

Classifier FitCommand::of_pictures() const {
  check_number_of_views(views);
  const StoppedNote note;
  const ImageDataset dataset = ImageDataset::open(support);
  const std::vector<NamedPicture> pictures = pictures_of(dataset);
  const BackboneChoice choice = options.backbone.empty()
                                    ? suitable_backbone(pictures)
                                    : BackboneChoice{options.backbone, "as asked for"};
  const OpenedBackbone backbone = load_backbone(choice.name, options);
  std::vector<std::string> view_names;
  for (const View& view : parse_views(views, SizeRule::release, backbone.network->input_size()))
    view_names.push_back(name(view));
  fmt::print("backbone {}: {}; {} {}\n", choice.name, choice.reason, view_names.size(),
             view_names.size() == 1 ? "view" : "views");

  const Stopwatch looking;
  const PictureFeatures features = look_at(pictures, view_names, options, backbone);
  const double seconds = looking.seconds();
  NamedSamples samples{
      .classes = dataset.classes(), .labels = {}, .names = {}, .rows = features.rows()};
  for (const std::size_t i : features.pictures) {
    samples.labels.push_back(dataset.label(i));
    samples.names.push_back(pictures[i].name);
  }
  const Stopwatch fitting;
  Classifier classifier =
      Classifier::fit(samples, {view_names, members(), backbone.origin}, options.threads);
  fmt::print("{} pictures in {:.1f} s ({:.1f} pictures/s), fitted in {:.2f} s\n",
             samples.labels.size(), seconds, static_cast<double>(samples.labels.size()) / seconds,
             fitting.seconds());
  return classifier;
}

void FitCommand::run() {
  { const AtomicFile shows_early_whether_it_can_be_written(out); }
  const Classifier classifier = is_store(support) ? of_store() : of_pictures();
  classifier.save(out);
  print_summary(out, classifier);
}

}  // namespace

void add_fit_command(CLI::App& program) {
  auto command = std::make_shared<FitCommand>();
  CLI::App* app =
      program.add_subcommand("fit", "make a classifier of a few pictures of each class");
  app->footer(kFooter);
  app->add_option("SUPPORT", command->support, "pictures with a class each, or a feature store")
      ->required();
  app->add_option("--out", command->out, "classifier file to write (.dv)")->required();
  app->add_option("--views", command->views,
                  "ways to look at each picture: 1, 4, 8, 16, 64, or names with commas")
      ->capture_default_str();
  app->add_option("--pool", command->pool,
                  "JSON file of members, instead of every view with the eight transformations");
  add_picture_options(*app, command->options,
                      "name or file of a model [photographs: resnet50; drawings: quickdraw-conv4]");
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
