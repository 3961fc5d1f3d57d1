#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/classifier/classifier.hpp"
#include "deepvoro/core/export.hpp"

namespace deepvoro {

// So many of so many.
struct Proportion {
  std::size_t count = 0;
  std::size_t of = 0;

  [[nodiscard]] double percent() const {
    return of == 0 ? 0 : 100 * static_cast<double>(count) / static_cast<double>(of);
  }
};

// Wilson's interval, in percent, that holds the true proportion in 95 of 100 cases.
struct PercentInterval {
  double low = 0;
  double high = 100;
};
[[nodiscard]] DEEPVORO_API PercentInterval wilson95(const Proportion& proportion);

// How a classifier does on pictures of which the class is known.
struct DEEPVORO_API ClassifierTest {
  struct Answer {
    std::string name;       // of the picture
    std::size_t label = 0;  // its true class, index into `classes`
    Prediction prediction;
  };

  // Those of the classifier, in their order, and then those that only the pictures have.
  std::vector<std::string> classes;
  std::size_t known_classes = 0;
  std::vector<Answer> answers;
  std::vector<std::string> skipped;  // pictures that could not be read, and why

  [[nodiscard]] bool is_known(const Answer& answer) const { return answer.label < known_classes; }
  [[nodiscard]] bool is_right(const Answer& answer) const {
    return answer.prediction.label == answer.label;
  }

  // Of pictures of the classifier's classes, those that were assigned to their own.
  [[nodiscard]] Proportion right() const;
  [[nodiscard]] Proportion right(std::size_t label) const;
  // What `--reject` would do: of these, those that it keeps; of pictures of other classes, those
  // that it finds to be unknown.
  [[nodiscard]] Proportion known_kept() const;
  [[nodiscard]] Proportion strangers_found() const;
  // [classes][known_classes]: pictures of a class by the class that they were assigned to.
  [[nodiscard]] std::vector<std::vector<std::size_t>> confusion() const;
};

// What to tell a person who tests with classes that the classifier does not know; nothing where it
// knows them all.
[[nodiscard]] DEEPVORO_API std::optional<std::string> note_on_strangers(
    const Classifier& classifier, std::span<const std::string> classes);

[[nodiscard]] DEEPVORO_API ClassifierTest test_classifier(const Classifier& classifier,
                                                          const LabelledPictures& pictures,
                                                          const PictureOptions& options = {});
// All samples of a split; without a name that by FeatureStore::usual_split().
[[nodiscard]] DEEPVORO_API ClassifierTest test_classifier(const Classifier& classifier,
                                                          const FeatureStore& store,
                                                          const std::string& split = {},
                                                          unsigned threads = 1);

}  // namespace deepvoro
