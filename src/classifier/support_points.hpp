#pragma once

#include "core/matrix.hpp"
#include "deepvoro/classifier/classifier.hpp"

namespace deepvoro {

// Samples of a classifier as the points that ridge-vd sees, of unit length.
[[nodiscard]] Matrix<double> support_points(const NamedSamples& samples,
                                            const Calibration& calibration,
                                            const BackboneStatistics* statistics,
                                            unsigned threads = 1);

}  // namespace deepvoro
