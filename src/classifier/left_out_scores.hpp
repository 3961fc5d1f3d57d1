#pragma once

#include <cstddef>
#include <vector>

#include "class_likeness.hpp"
#include "core/matrix.hpp"
#include "deepvoro/classifier/backbone_statistics.hpp"
#include "deepvoro/classifier/calibration.hpp"
#include "deepvoro/ensemble/fitted.hpp"
#include "geometry/ridge.hpp"

namespace deepvoro {

// What is said of samples that were left out, a fifth at a time.
struct LeftOutScores {
  bool is_logistic = false;  // by a logistic regression on the points, or by both diagrams
  double strength = kRidgeStrengths.front();  // of the ridge regression
  Matrix<double> scores;                      // [samples x classes]
  double temperature = 0;                     // that suits a fit of all samples
  double cost = 0;  // minus the logarithm of the samples' likelihood, at best
};

struct LeftOut {
  ClassLikeness likeness;
  std::vector<std::size_t> samples;  // which; those that are alone in their class are not
  std::vector<LeftOutScores> ways;   // one at least, both diagrams of the usual strength first
};

// Where temperatures are looked for.
inline constexpr TemperatureRange kTemperatureRange{0.02, 0.6};

// Of many samples some of each class take part. Other strengths than the usual one are tried where
// every class has five samples, and logistic regression where every class has twenty.
[[nodiscard]] LeftOut leave_out(const LabelledPoints& support, const ClassLikeness::Prior& prior,
                                unsigned threads);

// The same of samples in their views, as points of a PointSpace. `statistics` may be nullptr.
[[nodiscard]] LeftOut leave_out(const ViewedSamples& support, double exponent,
                                const BackboneStatistics* statistics, unsigned threads);

}  // namespace deepvoro
