#pragma once

#include <span>

#include "core/matrix.hpp"
#include "geometry/diagram.hpp"
#include "heads/head.hpp"

namespace deepvoro {

// out.row(k) = mean of the support rows of class k.
void class_means(const Support& support, Matrix<double>& out);
// The Voronoi diagram of these means.
void fit_means(const Support& support, VoronoiDiagram<double>& out);

// The class whose mean is nearest: ProtoNet, SimpleShot, PT+NCM. Influence: minus the distance.
class NearestMean {
 public:
  void fit(const Support& support) { fit_means(support, means_); }
  void influence(const double* query, std::span<double> out) const;

 private:
  VoronoiDiagram<double> means_;
};

}  // namespace deepvoro
