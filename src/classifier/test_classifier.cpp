#include "deepvoro/classifier/test_classifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/text.hpp"

namespace deepvoro {
namespace {

template <class Of, class Counted>
Proportion counted(const std::vector<ClassifierTest::Answer>& answers, const Of& is_of,
                   const Counted& is_counted) {
  Proportion proportion;
  for (const ClassifierTest::Answer& answer : answers) {
    if (!is_of(answer)) continue;
    ++proportion.of;
    if (is_counted(answer)) ++proportion.count;
  }
  return proportion;
}

// A test without answers yet, and where each class of the pictures is in it.
struct Begun {
  ClassifierTest test;
  std::vector<std::size_t> label_of;
};

Begun begun(const Classifier& classifier, std::span<const std::string> of_pictures) {
  Begun result{{.classes = classifier.classes(),
                .known_classes = classifier.classes().size(),
                .answers = {},
                .skipped = {}},
               {}};
  std::vector<std::string>& classes = result.test.classes;
  for (const std::string& name : of_pictures) {
    const auto found = std::ranges::find(classes, name);
    result.label_of.push_back(static_cast<std::size_t>(found - classes.begin()));
    if (found == classes.end()) classes.push_back(name);
  }
  return result;
}

}  // namespace

PercentInterval wilson95(const Proportion& proportion) {
  if (proportion.of == 0) return {};
  constexpr double z = 1.959963984540054;
  const auto n = static_cast<double>(proportion.of);
  const double p = static_cast<double>(proportion.count) / n;
  const double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {100 * std::max(0.0, middle - half), 100 * std::min(1.0, middle + half)};
}

Proportion ClassifierTest::right() const {
  return counted(
      answers, [&](const Answer& answer) { return is_known(answer); },
      [&](const Answer& answer) { return is_right(answer); });
}

Proportion ClassifierTest::right(std::size_t label) const {
  return counted(
      answers, [&](const Answer& answer) { return answer.label == label; },
      [&](const Answer& answer) { return is_right(answer); });
}

Proportion ClassifierTest::known_kept() const {
  return counted(
      answers, [&](const Answer& answer) { return is_known(answer); },
      [](const Answer& answer) { return !answer.prediction.unknown; });
}

Proportion ClassifierTest::strangers_found() const {
  return counted(
      answers, [&](const Answer& answer) { return !is_known(answer); },
      [](const Answer& answer) { return answer.prediction.unknown; });
}

std::vector<std::vector<std::size_t>> ClassifierTest::confusion() const {
  std::vector<std::vector<std::size_t>> counts(classes.size(),
                                               std::vector<std::size_t>(known_classes));
  for (const Answer& answer : answers) ++counts[answer.label][answer.prediction.label];
  return counts;
}

std::optional<std::string> note_on_strangers(const Classifier& classifier,
                                             std::span<const std::string> classes) {
  std::vector<std::string> strange;
  for (const std::string& name : classes)
    if (std::ranges::count(classifier.classes(), name) == 0) strange.push_back(name);
  if (strange.empty()) return std::nullopt;
  if (strange.size() == classes.size())
    return fmt::format(
        "the classifier knows none of these classes ({}), so no answer can be right; it knows {}",
        listed(strange), listed(classifier.classes()));
  const bool is_one = strange.size() == 1;
  return fmt::format("the classifier does not know {} ({}), so {} pictures count as strangers",
                     is_one ? "one class" : fmt::format("{} of the classes", strange.size()),
                     listed(strange), is_one ? "its" : "their");
}

ClassifierTest test_classifier(const Classifier& classifier, const LabelledPictures& pictures,
                               const PictureOptions& options) {
  if (const auto& tell = options.events.noticed) {
    std::ranges::for_each(pictures.notes, tell);
    if (const auto note = note_on_strangers(classifier, pictures.classes)) tell(*note);
  }
  Begun begin = begun(classifier, pictures.classes);
  ClassifierTest& test = begin.test;
  PictureOptions listening = options;
  listening.events.looked = [&, tell = options.events.looked](const LookedAt& result) {
    test.skipped = result.skipped;
    if (tell) tell(result);
  };
  classifier.predict(
      pictures.pictures,
      [&](const Prediction& prediction) {
        const std::size_t i = prediction.query;
        test.answers.push_back(
            {pictures.pictures[i].where, begin.label_of[pictures.labels[i]], prediction});
      },
      listening);
  return std::move(test);
}

ClassifierTest test_classifier(const Classifier& classifier, const FeatureStore& store,
                               const std::string& split, unsigned threads) {
  const std::string of = split.empty() ? store.usual_split() : split;
  auto [test, label_of] = begun(classifier, store.split(of).classes);
  const std::vector<std::size_t> labels = store.labels(of);
  for (Prediction& prediction : classifier.predict(store, of, threads)) {
    const std::size_t i = prediction.query;
    test.answers.push_back(
        {fmt::format("{}/{}", of, i), label_of[labels[i]], std::move(prediction)});
  }
  return test;
}

}  // namespace deepvoro
