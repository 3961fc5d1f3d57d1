#pragma once

#include <string>

#include "deepvoro/classifier/classifier.hpp"
#include "deepvoro/classifier/test_classifier.hpp"
#include "deepvoro/core/export.hpp"

namespace deepvoro {

// What decides in a classifier, in words: the members of an ensemble, the ridge regression and the
// class means together, or the logistic regression that did better with many pictures.
[[nodiscard]] DEEPVORO_API std::string decider(const Classifier& classifier);

// As JSON (docs/FORMATS.md): what `deepvoro info --json` and `deepvoro test --json` print.
[[nodiscard]] DEEPVORO_API std::string info_json(const Classifier& classifier,
                                                 bool with_pictures = false);
[[nodiscard]] DEEPVORO_API std::string test_json(const ClassifierTest& test);

}  // namespace deepvoro
