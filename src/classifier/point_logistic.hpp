#pragma once

#include <cstddef>
#include <span>

#include "geometry/labelled_points.hpp"
#include "heads/logistic.hpp"

namespace deepvoro {

// A logistic regression on points. Other than class means it goes on profiting from samples where
// there are hundreds of each class.
class PointLogistic {
 public:
  explicit PointLogistic(const LabelledPoints& support);

  // out[k] = logit of class k
  void scores(const double* point, std::span<double> out) const;

 private:
  std::size_t stride_;
  LogisticHead head_;
};

}  // namespace deepvoro
