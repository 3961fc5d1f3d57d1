#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/matrix.hpp"
#include "geometry/labelled_points.hpp"

namespace deepvoro {

// The means of classes of any size, and how far samples are from them.
class ClassMeans {
 public:
  // `usual_variance`: what |point - mean|^2 is on average before anything is seen; it counts as
  // much as four samples.
  ClassMeans(const LabelledPoints& support, double usual_variance);

  [[nodiscard]] std::size_t classes() const { return counts_.size(); }
  [[nodiscard]] double count(std::size_t k) const { return counts_[k]; }
  // out[k] = |point - mean k|^2
  void squared_distances(const double* point, std::span<double> out) const;

  // Half of minus the squared distance, less what it is larger by because the mean is one of few.
  [[nodiscard]] double nearness(std::size_t k, double squared_distance) const {
    return -0.5 * (squared_distance - kPull * variance_ / counts_[k]);
  }
  // What a temperature is multiplied by where a sample has these squared distances: samples that
  // are far nearer to a class than is usual, such as near-duplicates, are surely of it.
  [[nodiscard]] double temperature_factor(std::span<const double> squared_distances) const;
  // The squared distance in units of what it is for a sample of the class that is not in the mean
  // of `count` others.
  [[nodiscard]] double relative_distance(std::size_t k, double squared_distance,
                                         double count) const {
    return squared_distance / (class_variances_[k] * (1 + 1 / count));
  }

 private:
  // More than 1, because classes of few samples are the ones that lose.
  static constexpr double kPull = 1.5;

  Matrix<double> means_;
  std::vector<double> counts_;
  double variance_;                      // of samples around the means of their classes
  std::vector<double> class_variances_;  // the same for each class, drawn towards that of all
};

}  // namespace deepvoro
