#include "classifier_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "classifier/answer_json.hpp"
#include "core/text.hpp"
#include "deepvoro/classifier/describe.hpp"

namespace deepvoro {
namespace {

constexpr double kPercent = 100;
// Pictures that were assigned wrongly, and classes, in the text; more would not be read.
constexpr std::size_t kShown = 10;

std::string percent_text(const LeftOutCount& count) {
  return fmt::format(
      "{} of {} ({:.1f} %)", count.correct, count.samples,
      kPercent * static_cast<double>(count.correct) / static_cast<double>(count.samples));
}

// The worst first; not those that are all right.
void print_wrong_classes(const Classifier& classifier) {
  struct ClassCount {
    std::string name;
    LeftOutCount count;
  };
  std::vector<ClassCount> wrong;
  std::size_t right = 0;
  for (std::size_t k = 0; k < classifier.classes().size(); ++k) {
    const LeftOutCount count = count_left_out(classifier.calibration(), classifier.labels(), k);
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
  if (wrong.size() > kShown)
    fmt::print("  and {}\n", counted(wrong.size() - kShown, "more class", "more classes"));
  if (right > 0 && !wrong.empty())
    fmt::print("  {}: all of them\n", counted(right, "other class", "other classes"));
}

void print_wrong_pictures(const Classifier& classifier) {
  const Calibration& calibration = classifier.calibration();
  std::size_t mistakes = 0;
  for (std::size_t i = 0; i < calibration.left_out.size(); ++i) {
    const std::optional<std::size_t>& answer = calibration.left_out[i];
    if (!answer || *answer == classifier.labels()[i]) continue;
    if (mistakes++ < kShown)
      fmt::print("  {}/{} was taken for {}\n", classifier.classes()[classifier.labels()[i]],
                 classifier.names()[i], classifier.classes()[*answer]);
  }
  if (mistakes > kShown) fmt::print("  and {}\n", counted(mistakes - kShown, "more picture"));
}

void print_left_out(const Classifier& classifier) {
  const LeftOutCount all = count_left_out(classifier.calibration(), classifier.labels());
  if (all.samples == 0) {
    fmt::print("{}\n", classifier.classes().size() < 2
                           ? "one class: every picture is of it, or with --reject unknown"
                           : "no class has two pictures, so none could be left out to see how "
                             "good it is");
    return;
  }
  fmt::print("left out in turn, {} {} classified correctly, with fewer examples than now\n",
             percent_text(all), all.samples == 1 ? "is" : "are");
  print_wrong_classes(classifier);
  print_wrong_pictures(classifier);
}

void print_detail(const char* title, const std::string& text) {
  fmt::print("  {:<12}{}\n", title, text);
}

std::string network_text(const Classifier& classifier) {
  const std::string& backbone = classifier.origin().backbone;
  return fmt::format(
      "{}; {} of {} features{}",
      backbone.empty() ? std::string("features that were given") : fmt::format("by {}", backbone),
      counted(classifier.views().size(), "view"), classifier.dim(),
      classifier.origin().fast_decode ? "; large JPEG files at a fraction of their size" : "");
}

std::string method_text(const Classifier& classifier) {
  switch (classifier.method()) {
    case FitMethod::deepvoro:
      return fmt::format("deepvoro: the nearest class by the sum of distances over {}",
                         counted(classifier.pool().size(), "member"));
    case FitMethod::plda:
      return "plda: the nearest class in every view, whitened by statistics of the network";
    case FitMethod::ridge_vd:
      break;
  }
  return fmt::format(
      "ridge-vd: {}",
      classifier.calibration().ridge_vd->is_logistic
          ? "with so many pictures per class a logistic regression decides, because it does better "
            "on left-out pictures"
          : "a ridge regression, in which every class counts the same, and the nearest class mean "
            "decide together");
}

std::string statistics_text(const Classifier& classifier) {
  const BackboneStatistics* statistics = classifier.statistics();
  if (statistics == nullptr)
    return "without statistics of the network, which would make it a little better ('deepvoro "
           "backbone statistics --help')";
  return fmt::format("with statistics of the network, from {} of {}",
                     counted(statistics->samples, "picture"),
                     counted(statistics->classes, "other class", "other classes"));
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

}  // namespace

void print_summary(const std::string& file, const Classifier& classifier) {
  std::vector<std::size_t> shots(classifier.classes().size());
  for (const std::size_t label : classifier.labels()) ++shots[label];
  const auto [fewest, most] = std::ranges::minmax(shots);
  fmt::print("{}: {}, {} ({} per class)\n", file, counted(shots.size(), "class", "classes"),
             counted(classifier.labels().size(), "picture"),
             fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most));
  print_left_out(classifier);
}

void print_details(const Classifier& classifier) {
  const Calibration& calibration = classifier.calibration();
  fmt::print("how it decides\n");
  print_detail("features", network_text(classifier));
  print_detail("method", method_text(classifier));
  if (classifier.method() == FitMethod::ridge_vd) print_detail("", statistics_text(classifier));
  if (calibration.ridge_vd) print_detail("chosen", choice_text(*calibration.ridge_vd));
  if (!rejects(calibration.threshold())) return;
  print_detail(
      "calibration",
      fmt::format("temperature {:.4g}, unknown beyond a distance of {:.4g}{}",
                  calibration.temperature, calibration.threshold(),
                  calibration.ridge_vd ? ", where 1 is typical of pictures of a class" : ""));
}

}  // namespace deepvoro
