#include "classifier_options.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <iostream>

#include "deepvoro/core/error.hpp"
#include "episode_options.hpp"
#include "flag_text.hpp"

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
    throw data_error(fmt::format("{}: no file matches; check the folder and the extension", word));
  return names;
}

std::string calibration_text(const Classifier& classifier) {
  const Calibration& calibration = classifier.calibration();
  if (classifier.classes().size() < 2)
    return "one class: it is the answer for every picture, even with --reject";
  const std::string numbers =
      fmt::format("temperature {:.4g}, unknown beyond a mean distance of {:.4g}",
                  calibration.temperature, -calibration.threshold);
  if (calibration.source == CalibrationSource::distances)
    return numbers + ": from the distances between classes, because no class has two pictures";
  return fmt::format(
      "left out one at a time, {} of {} pictures ({:.1f} %) are classified correctly, with one "
      "example fewer\nchosen from that: {}",
      calibration.correct, calibration.samples,
      100.0 * static_cast<double>(calibration.correct) / static_cast<double>(calibration.samples),
      numbers);
}

}  // namespace

void PictureFlags::add_to(CLI::App& app, const std::string& backbone_help) {
  app.add_option("--backbone", looking.backbone, backbone_help);
  app.add_option("--device", looking.device,
                 "cpu, or cuda, which is faster and rounds features differently")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--split", split, "split of a feature store [the only one, otherwise novel]");
  app.add_flag("--skip-bad", looking.skip_bad, "skip pictures that cannot be read");
  add_threads_option(app, looking.threads);
}

bool is_store(const std::string& path) {
  std::error_code unreadable;
  return fs::exists(fs::path(path) / "store.json", unreadable);
}

std::vector<Picture> pictures_named(const std::vector<std::string>& words) {
  std::vector<Picture> pictures;
  for (const std::string& word : words)
    for (const std::string& path : word == "-" ? lines_of_input() : expanded(word))
      for (Picture& picture : pictures_at(path)) pictures.push_back(std::move(picture));
  if (pictures.empty()) throw data_error("no pictures are named on standard input");
  return pictures;
}

PictureOptions LookingDisplay::shown(const PictureOptions& looking) {
  PictureOptions options = looking;
  options.events.loading = [this](const std::string& backbone) {
    // Without folders: it has to fit on a line.
    loading_.emplace("loading " + fs::path(backbone).filename().string());
  };
  options.events.loaded = [this, told = looking.events.loaded](const BackboneChoice& choice,
                                                               std::size_t views) {
    loading_.reset();
    if (told) told(choice, views);
  };
  options.events.progress = bar_->callback();
  options.events.looked = [this](const LookedAt& result) {
    bar_.reset();
    for (const std::string& skipped : result.skipped)
      fmt::print(stderr, "skipped {}\n", with_flags(skipped));
    if (result.warning) fmt::print(stderr, "warning: {}\n", with_flags(*result.warning));
    result_ = result;
  };
  return options;
}

void print_summary(const std::string& file, const Classifier& classifier) {
  std::vector<std::size_t> shots(classifier.classes().size());
  for (const std::size_t label : classifier.labels()) ++shots[label];
  const auto [fewest, most] = std::ranges::minmax(shots);
  fmt::print("{}: {} {}, {} pictures ({} per class), {} members\n", file, shots.size(),
             shots.size() == 1 ? "class" : "classes", classifier.labels().size(),
             fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most),
             classifier.pool().size());
  fmt::print("{}\n", calibration_text(classifier));
}

}  // namespace deepvoro
