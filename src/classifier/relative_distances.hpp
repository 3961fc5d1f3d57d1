#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "deepvoro/classifier/calibration.hpp"
#include "heads/class_means.hpp"

namespace deepvoro {

// A sample in both spaces that distances are measured in.
struct PointPair {
  const double* point = nullptr;
  const double* plain = nullptr;
};

// How far samples are from classes, in units of what is usual for samples of the class; both spaces
// together, that of plain points the more the more is known of distances within classes.
class RelativeDistances {
 public:
  // The same samples in both. `usual_variance`: of samples around the mean of their class before
  // any are seen, in the first.
  RelativeDistances(const LabelledPoints& points, const LabelledPoints& plain,
                    double usual_variance);

  [[nodiscard]] const ClassMeans& means() const { return means_; }
  // Of each class.
  [[nodiscard]] std::vector<double> of(const PointPair& sample) const;

  // From the support: the distance beyond which a query is unknown, for each strictness.
  // `likeness_deviation`: how much products of points of different classes differ.
  [[nodiscard]] std::array<double, kStrictnesses.size()> thresholds(const LabelledPoints& points,
                                                                    const LabelledPoints& plain,
                                                                    double likeness_deviation,
                                                                    unsigned threads) const;

 private:
  [[nodiscard]] double mixed(double distance, double plain) const {
    return (distance + plain_weight_ * plain) / (1 + plain_weight_);
  }
  [[nodiscard]] double without(const PointPair& sample, std::size_t label) const;
  [[nodiscard]] double stranger(std::span<const double> distances, std::size_t label) const;

  ClassMeans means_;
  ClassMeans plain_means_;
  double plain_weight_;
};

}  // namespace deepvoro
