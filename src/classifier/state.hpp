#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/classifier/classifier.hpp"
#include "deepvoro/classifier/ridge_voronoi.hpp"
#include "deepvoro/ensemble/fitted.hpp"
#include "picture_networks.hpp"

namespace deepvoro {

// All that a classifier is. What stands in a file is support, options and calibration; the rest
// follows from them.
struct Classifier::State {
  // `support` is ordered. Without a calibration, one is made of it.
  State(NamedSamples support, ClassifierOptions options, std::optional<Calibration> known,
        std::shared_ptr<NetworkSlot> networks, unsigned threads);

  [[nodiscard]] std::vector<Prediction> predict(std::span<const MatrixView<const float>> queries,
                                                unsigned threads) const;

  // The support as points, placed when they are first asked for.
  [[nodiscard]] const Matrix<double>& points() const;

  NamedSamples support;
  ClassifierOptions options;  // with the method, and the statistics that it uses
  Pool pool;
  SpaceProvider spaces;
  std::variant<RidgeVoronoi, FittedEnsemble> fitted;
  Calibration calibration;
  // For pictures; shared with the classifiers that are made of this one.
  std::shared_ptr<NetworkSlot> networks;

 private:
  mutable std::once_flag placed_;
  mutable Matrix<double> points_;
};

// The method that is meant. Throws a usage error where there is a pool beside a method that has its
// own members.
[[nodiscard]] FitMethod method_of(std::optional<FitMethod> method, const Pool& pool);

// The support as an ensemble is fitted on it. Refers to it.
[[nodiscard]] ViewedSamples viewed(const NamedSamples& support,
                                   const std::vector<std::string>& views);

}  // namespace deepvoro
