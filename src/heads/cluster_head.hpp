#pragma once

#include <span>
#include <utility>

#include "deepvoro/geometry/influence.hpp"
#include "geometry/diagram.hpp"
#include "heads/head.hpp"
#include "heads/logistic.hpp"

namespace deepvoro {

// DeepVoro--: a cluster-induced Voronoi diagram with two centers a class, its mean and the center
// W_k/2 that logistic regression finds.
class ClusterHead {
 public:
  ClusterHead(LogisticHead logistic, Influence influence)
      : logistic_(std::move(logistic)), influence_(influence) {}

  void fit(const Support& support);
  void influence(const double* query, std::span<double> out) const;

 private:
  void add_terms(const VoronoiDiagram<double>& centers, const double* query,
                 std::span<double> out) const;

  LogisticHead logistic_;
  Influence influence_;
  VoronoiDiagram<double> means_;
  VoronoiDiagram<double> learned_;
};

}  // namespace deepvoro
