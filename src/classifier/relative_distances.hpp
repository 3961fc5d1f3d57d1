#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "deepvoro/classifier/calibration.hpp"
#include "heads/class_means.hpp"

namespace deepvoro {

// The variance of samples around the mean of their class before any are seen, where points are
// centred, and where the mean of the network is still in them.
inline constexpr double kUsualVariance = 0.78;
inline constexpr double kUsualPlainVariance = 0.42;

// A sample in both spaces that distances are measured in.
struct PointPair {
  const double* point = nullptr;
  const double* plain = nullptr;
};

// How far samples are from classes, in units of what is usual for samples of the class; both spaces
// together, that of plain points the more the more is known of distances within classes.
class RelativeDistances {
 public:
  // The same samples in both.
  RelativeDistances(const LabelledPoints& points, const LabelledPoints& plain);

  [[nodiscard]] const ClassMeans& means() const { return means_; }
  // Of each class.
  [[nodiscard]] std::vector<double> of(const PointPair& sample) const;

  // From the support: the distance beyond which a query is unknown, for each strictness.
  [[nodiscard]] std::array<double, kStrictnesses.size()> thresholds(const LabelledPoints& points,
                                                                    const LabelledPoints& plain,
                                                                    unsigned threads) const;

 private:
  [[nodiscard]] double mixed(double distance, double plain) const {
    return (distance + plain_weight_ * plain) / (1 + plain_weight_);
  }
  [[nodiscard]] double without(const PointPair& sample, std::size_t label) const;

  ClassMeans means_;
  ClassMeans plain_means_;
  double plain_weight_;
};

}  // namespace deepvoro
