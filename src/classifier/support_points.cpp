#include "support_points.hpp"

#include "point_space.hpp"

namespace deepvoro {

Matrix<double> support_points(const NamedSamples& samples, const Calibration& calibration,
                              const BackboneStatistics* statistics, unsigned threads) {
  const auto& choice = calibration.ridge_vd;
  const double exponent = choice ? choice->exponent : kPointExponents.front();
  Matrix<double> points = represented(Representation(exponent), samples.rows(), threads);
  PointSpace(exponent, choice ? statistics : nullptr)
      .fit(points, samples.labels, samples.classes.size());
  return points;
}

}  // namespace deepvoro
