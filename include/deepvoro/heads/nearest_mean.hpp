#pragma once

#include <span>
#include <vector>

#include "deepvoro/core/matrix.hpp"
#include "deepvoro/heads/head.hpp"

namespace deepvoro {

// out.row(k) = mean of the support rows of class k.
void class_means(const Support& support, Matrix<double>& out);

// The class whose mean is nearest: ProtoNet, SimpleShot, PT+NCM. Influence: minus the distance.
class NearestMean {
 public:
  void fit(const Support& support) { class_means(support, means_); }
  void influence(const double* query, std::span<double> out) const;

 private:
  Matrix<double> means_;
};

}  // namespace deepvoro
