#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deepvoro/classifier/classifier.hpp"
#include "deepvoro/ensemble/fitted.hpp"
#include "support_set.hpp"

namespace deepvoro {

// All that a classifier is. What stands in a file is support, options and calibration; the rest
// follows from them.
struct Classifier::State {
  // Without a calibration, one is made of the support.
  State(SupportSet support, ClassifierOptions options, std::optional<Calibration> known,
        unsigned threads);

  SupportSet support;
  ClassifierOptions options;
  Pool pool;
  FittedEnsemble ensemble;
  Calibration calibration;
};

// The support as an ensemble is fitted on it. Refers to the set.
[[nodiscard]] ViewedSamples viewed(const SupportSet& support,
                                   const std::vector<std::string>& views);

}  // namespace deepvoro
