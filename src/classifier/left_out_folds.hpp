#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/classifier/calibration.hpp"
#include "geometry/ridge.hpp"

namespace deepvoro {

// Samples that were left out of both diagrams, a fifth at a time, and what these say of them.
struct LeftOutScores {
  std::vector<std::size_t> samples;  // which; those that are alone in their class are not
  Matrix<double> scores;             // [samples x classes]
  double temperature = 0;            // that suits a fit of all samples
  double cost = 0;                   // minus the logarithm of the samples' likelihood, at best
};

// Where temperatures are looked for.
inline constexpr TemperatureRange kTemperatureRange{0.02, 0.6};

// Sample j of a class is left out in fold j mod 5. Of many samples some of each class take part.
// `usual_temperature` is that of one sample of each class, before any are left out.
[[nodiscard]] LeftOutScores leave_out(const LabelledPoints& support, double usual_variance,
                                      double usual_temperature, unsigned threads);

}  // namespace deepvoro
