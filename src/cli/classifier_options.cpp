#include "classifier_options.hpp"

#include <fmt/format.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

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

constexpr double kPercent = 100;
// Pictures that were assigned wrongly, and classes, in the text; more would not be read.
constexpr std::size_t kShown = 10;

std::string percent_text(const LeftOutCount& count) {
  return fmt::format(
      "{} of {} ({:.1f} %)", count.correct, count.samples,
      kPercent * static_cast<double>(count.correct) / static_cast<double>(count.samples));
}

std::string method_text(const Classifier& classifier) {
  switch (classifier.method()) {
    case FitMethod::deepvoro:
      return fmt::format("deepvoro: the nearest class by the sum of distances over {} {}",
                         classifier.pool().size(),
                         classifier.pool().size() == 1 ? "member" : "members");
    case FitMethod::plda:
      return "plda: the nearest class in every view, whitened by statistics of the network";
    case FitMethod::ridge_vd:
      break;
  }
  const std::string views =
      classifier.views().size() == 1
          ? "the picture is one point"
          : fmt::format("the {} views of a picture are one point", classifier.views().size());
  const BackboneStatistics* statistics = classifier.statistics();
  return fmt::format(
      "ridge-vd: {}; {}\n{}", views,
      classifier.calibration().ridge_vd->is_logistic
          ? "with so many pictures per class a logistic regression decides, because it does better "
            "on left-out pictures than class means do"
          : "a ridge regression, in which every class counts the same, and the nearest class mean "
            "decide together",
      statistics == nullptr
          ? "without statistics of the network, which would make it a little better ('deepvoro "
            "backbone statistics --help')"
          : fmt::format("with statistics of the network, from {} pictures of {} other classes",
                        statistics->samples, statistics->classes));
}

std::string choice_text(const RidgeVoronoiChoice& choice) {
  const std::string values =
      fmt::format("exponent {}{}", choice.exponent,
                  choice.is_logistic ? "" : fmt::format(", ridge strength {}", choice.strength));
  if (choice.gain == 0) return values + ": the usual ones";
  return fmt::format(
      "{}: left-out pictures are more likely than by the usual ones (log-likelihood {:+.1f})",
      values, choice.gain);
}

// Classes by how many of their left-out pictures were right, the worst first.
void print_left_out(const Classifier& classifier) {
  const Calibration& calibration = classifier.calibration();
  const LeftOutCount all = count_left_out(calibration, classifier.labels());
  if (all.samples == 0) {
    fmt::print("{}\n", classifier.classes().size() < 2
                           ? "one class: every picture is of it, or with --reject unknown"
                           : "no class has two pictures, so none could be left out to see how "
                             "good it is");
    return;
  }
  fmt::print("left out in turn, {} are classified correctly, with fewer examples than now\n",
             percent_text(all));
  struct ClassCount {
    std::string name;
    LeftOutCount count;
  };
  std::vector<ClassCount> wrong;
  std::size_t right = 0;
  for (std::size_t k = 0; k < classifier.classes().size(); ++k) {
    const LeftOutCount count = count_left_out(calibration, classifier.labels(), k);
    if (count.correct < count.samples)
      wrong.push_back({classifier.classes()[k], count});
    else if (count.samples > 0)
      ++right;
  }
  std::ranges::stable_sort(wrong, {}, [](const ClassCount& one) {
    return static_cast<double>(one.count.correct) / static_cast<double>(one.count.samples);
  });
  for (std::size_t i = 0; i < std::min(wrong.size(), kShown); ++i)
    fmt::print("  {}: {}\n", wrong[i].name, percent_text(wrong[i].count));
  if (wrong.size() > kShown) fmt::print("  and {} more classes\n", wrong.size() - kShown);
  if (right > 0 && !wrong.empty())
    fmt::print("  {} {}: all of them\n", right, right == 1 ? "other class" : "other classes");
  std::size_t mistakes = 0;
  for (std::size_t i = 0; i < calibration.left_out.size(); ++i) {
    const std::optional<std::size_t>& answer = calibration.left_out[i];
    if (!answer || *answer == classifier.labels()[i]) continue;
    if (mistakes++ < kShown)
      fmt::print("  {}/{} was taken for {}\n", classifier.classes()[classifier.labels()[i]],
                 classifier.names()[i], classifier.classes()[*answer]);
  }
  if (mistakes > kShown) fmt::print("  and {} more pictures\n", mistakes - kShown);
}

void print_chosen(const Classifier& classifier) {
  const Calibration& calibration = classifier.calibration();
  if (calibration.ridge_vd) fmt::print("{}\n", choice_text(*calibration.ridge_vd));
  if (!rejects(calibration.threshold())) return;
  fmt::print("temperature {:.4g}, unknown beyond a distance of {:.4g}{}\n", calibration.temperature,
             calibration.threshold(),
             calibration.ridge_vd ? ", where 1 is typical of pictures of a class" : "");
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

void PictureFlags::add_leaves_to(CLI::App& app) {
  app.add_flag("--leaves", leaves,
               "where folders have folders in them, every one that holds pictures is a class");
}

bool is_store(const std::string& path) {
  std::error_code unreadable;
  return fs::exists(fs::path(path) / "store.json", unreadable);
}

bool is_feature_file(const std::string& path) {
  constexpr std::array<std::string_view, 8> endings{".npy", ".npz",         ".h5",  ".hdf5",
                                                    ".plk", ".safetensors", ".pkl", ".pickle"};
  return std::ranges::count(endings, fs::path(path).extension().string()) == 1;
}

std::vector<Picture> pictures_named(const std::vector<std::string>& words) {
  std::vector<Picture> pictures;
  for (const std::string& word : words)
    for (const std::string& path : word == "-" ? lines_of_input() : expanded(word))
      for (Picture& picture : pictures_at(path)) pictures.push_back(std::move(picture));
  if (pictures.empty()) throw data_error("no pictures are named on standard input");
  return pictures;
}

std::vector<std::byte> bytes_of_input() {
  constexpr std::size_t most = std::size_t{1} << 30U;  // no picture is as large
  std::vector<std::byte> bytes;
  std::array<char, 1 << 16> some;
  while (std::cin.read(some.data(), some.size()) || std::cin.gcount() > 0) {
    const auto read =
        std::as_bytes(std::span(some).first(static_cast<std::size_t>(std::cin.gcount())));
    bytes.insert(bytes.end(), read.begin(), read.end());
    if (bytes.size() > most) throw data_error("standard input: is too large for a picture");
  }
  return bytes;
}

LookingDisplay::LookingDisplay(Result result) : writes_rows_(result == Result::rows) {
  note_.emplace();
  if (!writes_rows_ || ::isatty(STDOUT_FILENO) == 0) bar_.emplace("looking at pictures");
}

PictureOptions LookingDisplay::shown(const PictureOptions& looking) {
  PictureOptions options = looking;
  options.events.noticed = [](const std::string& note) {
    fmt::print(stderr, "note: {}\n", with_flags(note));
  };
  options.events.loading = [this](const std::string& backbone) {
    // Without folders: it has to fit on a line.
    loading_.emplace("loading " + fs::path(backbone).filename().string());
  };
  options.events.loaded = [this, told = looking.events.loaded](const BackboneChoice& choice,
                                                               std::size_t views) {
    loading_.reset();
    if (writes_rows_) note_.reset();
    if (told) told(choice, views);
  };
  if (bar_) options.events.progress = bar_->callback();
  options.events.looked = [this](const LookedAt& result) {
    bar_.reset();
    for (const std::string& skipped : result.skipped)
      fmt::print(stderr, "skipped {}\n", with_flags(skipped));
    if (result.warning) fmt::print(stderr, "warning: {}\n", with_flags(*result.warning));
    result_ = result;
  };
  return options;
}

bool rejects(double threshold) {
  return threshold < std::numeric_limits<double>::max();
}

nlohmann::ordered_json threshold_json(double threshold) {
  return rejects(threshold) ? nlohmann::ordered_json(threshold) : nlohmann::ordered_json();
}

nlohmann::ordered_json summary_json(const Classifier& classifier) {
  const Calibration& calibration = classifier.calibration();
  const auto left_out = [&](std::optional<std::size_t> of_class) -> nlohmann::ordered_json {
    const LeftOutCount count = count_left_out(calibration, classifier.labels(), of_class);
    return {{"pictures", count.samples}, {"right", count.correct}};
  };
  nlohmann::ordered_json text{{"format", "deepvoro-info"},
                              {"version", 1},
                              {"method", name(classifier.method())},
                              {"backbone", classifier.origin().backbone},
                              {"backbone_sha256", classifier.origin().sha256},
                              {"views", classifier.views()},
                              {"dim", classifier.dim()},
                              {"members", classifier.pool().size()},
                              {"temperature", calibration.temperature},
                              {"threshold", threshold_json(calibration.threshold())},
                              {"left_out", left_out({})},
                              {"classes", nlohmann::ordered_json::array()}};
  for (std::size_t k = 0; k < classifier.classes().size(); ++k)
    text["classes"].push_back({{"name", classifier.classes()[k]},
                               {"pictures", std::ranges::count(classifier.labels(), k)},
                               {"left_out", left_out(k)}});
  for (std::size_t i = 0; i < calibration.left_out.size(); ++i)
    if (const auto answer = calibration.left_out[i]; answer && *answer != classifier.labels()[i])
      text["left_out"]["wrong"].push_back({{"class", classifier.classes()[classifier.labels()[i]]},
                                           {"picture", classifier.names()[i]},
                                           {"answer", classifier.classes()[*answer]}});
  return text;
}

void print_summary_json(const Classifier& classifier) {
  fmt::print("{}\n", summary_json(classifier)
                         .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_summary(const std::string& file, const Classifier& classifier) {
  std::vector<std::size_t> shots(classifier.classes().size());
  for (const std::size_t label : classifier.labels()) ++shots[label];
  const auto [fewest, most] = std::ranges::minmax(shots);
  fmt::print("{}: {} {}, {} pictures ({} per class)\n", file, shots.size(),
             shots.size() == 1 ? "class" : "classes", classifier.labels().size(),
             fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most));
  fmt::print("{}\n", method_text(classifier));
  print_left_out(classifier);
  print_chosen(classifier);
}

}  // namespace deepvoro
