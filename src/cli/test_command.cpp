#include "test_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "classifier_options.hpp"
#include "core/text.hpp"
#include "deepvoro/classifier/describe.hpp"
#include "deepvoro/core/error.hpp"
#include "print_line.hpp"

namespace deepvoro {
namespace {

using Answer = ClassifierTest::Answer;

constexpr const char* kTestFooter = R"(
PICTURES is a folder with a folder of pictures for each class (or another collection that 'deepvoro fit' reads), or a feature
store. They should be others than those the classifier was fitted on. Classes that it does not know are strangers: the table
says how many of them --reject finds. JSON also has the confusion matrix and every answer.

Examples:
  deepvoro test birds.dv more-birds
  deepvoro test birds.dv more-birds --json > test.json)";

// Classes and pictures in the text; more would not be read.
constexpr std::size_t kShown = 20;

struct TestCommand {
  std::string classifier;
  std::string pictures;
  bool as_json = false;
  PictureFlags flags;

  void run() const;

 private:
  [[nodiscard]] ClassifierTest tested(const Classifier& fitted) const;
};

std::string text_of(const Proportion& proportion) {
  const PercentInterval interval = wilson95(proportion);
  return fmt::format("{} of {}, {:.1f} % ({:.1f} to {:.1f} in 95 of 100 cases)", proportion.count,
                     proportion.of, proportion.percent(), interval.low, interval.high);
}

// The worst first; those without pictures are not listed.
void print_by_class(const ClassifierTest& test) {
  std::vector<std::size_t> classes;
  for (std::size_t k = 0; k < test.known_classes; ++k)
    if (test.right(k).of > 0) classes.push_back(k);
  std::ranges::stable_sort(classes, {}, [&](std::size_t k) { return test.right(k).percent(); });
  const auto confusion = test.confusion();
  fmt::print("  right   of  class\n");
  for (std::size_t i = 0; i < std::min(classes.size(), kShown); ++i) {
    const std::size_t k = classes[i];
    const Proportion right = test.right(k);
    std::vector<std::size_t> counts = confusion[k];
    counts[k] = 0;
    const auto most = std::ranges::max_element(counts);
    fmt::print(
        "{:>7}{:>5}  {}{}\n", right.count, right.of, test.classes[k],
        *most == 0
            ? std::string()
            : fmt::format(", most often taken for {} ({})",
                          test.classes[static_cast<std::size_t>(most - counts.begin())], *most));
  }
  if (classes.size() > kShown)
    fmt::print("         and {}\n",
               counted(classes.size() - kShown, "better class", "better classes"));
}

// The surest first: a wrong label shows there.
void print_wrong(const ClassifierTest& test) {
  std::vector<const Answer*> wrong;
  for (const Answer& answer : test.answers)
    if (test.is_known(answer) && !test.is_right(answer)) wrong.push_back(&answer);
  const auto probability = [](const Answer* answer) {
    return answer->prediction.probabilities[answer->prediction.label];
  };
  std::ranges::stable_sort(wrong, std::ranges::greater(), probability);
  if (!wrong.empty()) fmt::print("wrong, the surest first\n");
  for (std::size_t i = 0; i < std::min(wrong.size(), kShown); ++i)
    print_line(fmt::format("  {} was taken for {} ({:.0f} %)", wrong[i]->name,
                           test.classes[wrong[i]->prediction.label], 100 * probability(wrong[i])));
  if (wrong.size() > kShown)
    fmt::print("  and {}\n", counted(wrong.size() - kShown, "more picture"));
}

void print(const ClassifierTest& test) {
  const Proportion right = test.right();
  if (right.of > 0) {
    fmt::print("right: {}\n", text_of(right));
    fmt::print("--reject would keep {}\n", text_of(test.known_kept()));
  }
  if (test.strangers_found().of > 0)
    fmt::print("of pictures of other classes --reject would find {}\n",
               text_of(test.strangers_found()));
  if (right.of == 0) return;
  print_by_class(test);
  print_wrong(test);
}

ClassifierTest TestCommand::tested(const Classifier& fitted) const {
  refuse_feature_file(pictures);
  if (is_store(pictures)) {
    refuse_fast_decode_of_features(flags.looking.fast_decode);
    const FeatureStore store{pictures};
    const std::string split = flags.split.empty() ? store.usual_split() : flags.split;
    if (const auto note = note_on_strangers(fitted, store.split(split).classes))
      fmt::print(stderr, "note: {}\n", *note);
    return test_classifier(fitted, store, split, flags.looking.threads);
  }
  LookingDisplay display;
  return test_classifier(fitted, labelled_pictures_at(pictures, flags.folders()),
                         display.shown(flags.looking));
}

void TestCommand::run() const {
  const Classifier fitted = load_classifier("test", classifier, {&pictures, 1});
  const ClassifierTest test = tested(fitted);
  if (as_json)
    fmt::print("{}\n", test_json(test));
  else
    print(test);
}

}  // namespace

void add_test_command(CLI::App& program) {
  auto command = std::make_shared<TestCommand>();
  CLI::App* app =
      program.add_subcommand("test", "count right answers on pictures whose classes are known");
  app->footer(kTestFooter);
  app->add_option("CLASSIFIER", command->classifier, "file made by deepvoro fit")->required();
  app->add_option("PICTURES", command->pictures,
                  "a folder of pictures per class or another collection, or a feature store")
      ->required();
  app->add_flag("--json", command->as_json, "as JSON");
  command->flags.add_leaves_to(*app);
  command->flags.add_to(*app,
                        "path of the model that the classifier was fitted with, if it was moved");
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
