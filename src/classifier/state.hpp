#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deepvoro/classifier/classifier.hpp"
#include "deepvoro/ensemble/fitted.hpp"
#include "picture_networks.hpp"

namespace deepvoro {

// All that a classifier is. What stands in a file is support, options and calibration; the rest
// follows from them.
struct Classifier::State {
  // `support` is ordered. Without a calibration, one is made of it.
  State(NamedSamples support, ClassifierOptions options, std::optional<Calibration> known,
        std::shared_ptr<NetworkSlot> networks, unsigned threads);

  NamedSamples support;
  ClassifierOptions options;
  Pool pool;
  SpaceProvider spaces;
  FittedEnsemble ensemble;
  Calibration calibration;
  // For pictures; shared with the classifiers that are made of this one.
  std::shared_ptr<NetworkSlot> networks;
};

// Throws a usage error where a method does not make classifiers, or has a pool beside its own.
void check_method(Method method, const Pool& pool);

// The support as an ensemble is fitted on it. Refers to it.
[[nodiscard]] ViewedSamples viewed(const NamedSamples& support,
                                   const std::vector<std::string>& views);

}  // namespace deepvoro
