#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "geometry/principal_plane.hpp"
#include "study/paper/shown_episode.hpp"

// Diagrams of one episode that can be drawn.
namespace deepvoro {

// The episode in the plane.
struct PlaneEpisode {
  EpisodeShape shape;
  std::vector<PlanePoint> support;  // class by class
  std::vector<PlanePoint> queries;  // the same
  std::vector<PlanePoint> prototypes;
  std::vector<PlanePoint> base;
  std::vector<PlanePoint> base_means;
};

[[nodiscard]] PlaneEpisode in_plane(const ShownEpisode& shown);

[[nodiscard]] double plane_distance(const PlanePoint& a, const PlanePoint& b);

// Larger is nearer, for each class.
using PlaneInfluence = std::function<void(const PlanePoint& point, std::span<double> out)>;

struct PlaneDiagram {
  PlaneInfluence influence;
  std::vector<PlanePoint> centers;  // class by class, again and again where a class has several
};

[[nodiscard]] PlaneInfluence nearest_center(std::vector<PlanePoint> centers);
// Logistic regression, and where the centers of its diagram are.
[[nodiscard]] PlaneDiagram power_diagram(const PlaneEpisode& episode);
// CIVD: prototypes and the centers of Voronoi-LR act together.
[[nodiscard]] PlaneDiagram cluster_induced(const PlaneEpisode& episode);
// CCVD: images of a query under three transformations, each with its own prototypes.
[[nodiscard]] PlaneDiagram cluster_to_cluster(const PlaneEpisode& episode);
// Centers are the shrunken prototypes. `origin`: of the base classes, for errors.
[[nodiscard]] PlaneDiagram two_covariance(const PlaneEpisode& episode,
                                          const std::vector<std::vector<std::size_t>>& base_rows,
                                          const std::string& origin);

}  // namespace deepvoro
