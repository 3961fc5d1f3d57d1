#include "classifier_options.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "deepvoro/core/error.hpp"
#include "deepvoro/features/transform.hpp"
#include "episode_options.hpp"
#include "progress_bar.hpp"
#include "status_line.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of_input() {
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

// What a pattern stands for; the word itself where it is none.
std::vector<std::string> expanded(const std::string& word) {
  std::error_code unreadable;
  if (fs::exists(word, unreadable) || word.find_first_of("*?[") == std::string::npos) return {word};
  ::glob_t found{};
  std::vector<std::string> names;
  if (::glob(word.c_str(), 0, nullptr, &found) == 0)
    names.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (names.empty())
    throw data_error(
        fmt::format("{}: no file has such a name; check the folder and the ending", word));
  return names;
}

std::string calibration_text(const Classifier& classifier) {
  const Calibration& calibration = classifier.calibration();
  if (classifier.classes().size() < 2)
    return "one class: it is the answer to every picture, also with --reject";
  const std::string numbers =
      fmt::format("temperature {:.4g}, unknown beyond a mean distance of {:.4g}",
                  calibration.temperature, -calibration.threshold);
  if (calibration.source == CalibrationSource::distances)
    return numbers + ": shares of the distances between classes, as no class has two pictures";
  return fmt::format(
      "left out one at a time, {} of {} pictures ({:.1f} %) find their class with one example "
      "fewer\nso chosen: {}",
      calibration.correct, calibration.samples,
      100.0 * static_cast<double>(calibration.correct) / static_cast<double>(calibration.samples),
      numbers);
}

// Without folders: it has to fit on a line.
std::string loading_text(const fs::path& backbone) {
  return "loading " + backbone.filename().string();
}

}  // namespace

void add_picture_options(CLI::App& app, PictureOptions& options, const std::string& backbone_help) {
  app.add_option("--backbone", options.backbone, backbone_help);
  app.add_option("--device", options.device,
                 "cpu or cuda, which is faster and rounds features otherwise")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--split", options.split,
                 "split of a feature store [the only one, or else novel]");
  app.add_flag("--skip-bad", options.skip_bad, "leave out pictures that cannot be read");
  add_threads_option(app, options.threads);
}

bool is_store(const std::string& path) {
  std::error_code unreadable;
  return fs::exists(fs::path(path) / "store.json", unreadable);
}

std::vector<MatrixView<const float>> StoreRows::rows() const {
  std::vector<MatrixView<const float>> all;
  for (const std::vector<float>& view : views) all.emplace_back(view.data(), samples.size(), dim);
  return all;
}

std::string split_of(const FeatureStore& store, const std::string& asked_for) {
  if (!asked_for.empty()) return asked_for;
  return store.splits().size() == 1 ? store.splits().begin()->first : "novel";
}

StoreRows read_rows(const FeatureStore& store, const std::string& split,
                    const std::vector<std::string>& views,
                    const std::optional<std::size_t>& label) {
  const std::vector<std::size_t> labels = store.labels(split);
  StoreRows result{.samples = {}, .views = {}, .dim = store.dim()};
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (!label || labels[i] == *label) result.samples.push_back(i);
  std::vector<double> wide(padded(store.dim()));
  for (const std::string& view : views) {
    if (!store.has_view(view))
      throw data_error(
          fmt::format("{}: has no view '{}', which is needed", store.folder().string(), view));
    const FeatureRows source = store.features(split, view);
    std::vector<float>& rows = result.views.emplace_back();
    rows.reserve(result.samples.size() * store.dim());
    for (const std::size_t sample : result.samples) {
      widen(source.element(), source.row(sample), store.dim(), wide.data());
      for (std::size_t i = 0; i < store.dim(); ++i) rows.push_back(static_cast<float>(wide[i]));
    }
  }
  return result;
}

std::string model_of(const FeatureStore& store) {
  using nlohmann::json;
  const json provenance = json::parse(store.provenance_json(), nullptr, false);
  const json model = provenance.is_object() ? provenance.value("model", json()) : json();
  return model.is_string() ? model.get<std::string>() : std::string();
}

void check_same_origin(const FeatureStore& store, const Classifier& classifier) {
  const std::string where = store.folder().string();
  const std::string model = model_of(store);
  const FeatureOrigin& origin = classifier.origin();
  if (store.dim() != classifier.dim())
    throw data_error(fmt::format("{}: has features of {} dimensions, but the classifier needs {}",
                                 where, store.dim(), classifier.dim()));
  if (model != origin.sha256 &&
      (!origin.backbone.empty() || (!model.empty() && !origin.sha256.empty())))
    throw data_error(fmt::format(
        "{}: its features were made by another model than those of the classifier", where));
}

std::vector<NamedPicture> pictures_named(const std::vector<std::string>& words) {
  std::vector<NamedPicture> pictures;
  for (const std::string& word : words)
    for (const std::string& path : word == "-" ? lines_of_input() : expanded(word))
      for (NamedPicture& picture : pictures_at(path)) pictures.push_back(std::move(picture));
  if (pictures.empty()) throw data_error("no pictures are named on the standard input");
  return pictures;
}

OpenedBackbone load_backbone(const std::string& name, const PictureOptions& options) {
  const StatusLine status(loading_text(name));
  return open_backbone(name, options.device);
}

OpenedBackbone load_backbone_of(const Classifier& classifier, const PictureOptions& options) {
  const std::string& moved_to = options.backbone;
  const StatusLine status(loading_text(moved_to.empty() ? classifier.origin().backbone : moved_to));
  return open_backbone_of(classifier, moved_to, options.device);
}

PictureFeatures look_at(const std::vector<NamedPicture>& pictures,
                        const std::vector<std::string>& views, const PictureOptions& options,
                        const OpenedBackbone& backbone) {
  std::optional<ProgressBar> bar("looking at pictures");
  PictureFeatures features =
      features_of(pictures, {views, options.skip_bad, options.threads}, backbone, bar->callback());
  bar.reset();
  for (const std::string& skipped : features.skipped) fmt::print(stderr, "skipped {}\n", skipped);
  if (features.pictures.empty()) throw data_error("not one of the pictures can be read");
  if (const auto warning = warning_of_colours(backbone.origin, features))
    fmt::print(stderr, "{}\n", *warning);
  return features;
}

void print_summary(const std::string& file, const Classifier& classifier) {
  std::vector<std::size_t> shots(classifier.classes().size());
  for (const std::size_t label : classifier.labels()) ++shots[label];
  const auto [fewest, most] = std::ranges::minmax(shots);
  fmt::print("{}: {} {}, {} pictures ({} a class), {} members\n", file, shots.size(),
             shots.size() == 1 ? "class" : "classes", classifier.labels().size(),
             fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most),
             classifier.pool().size());
  fmt::print("{}\n", calibration_text(classifier));
}

}  // namespace deepvoro
