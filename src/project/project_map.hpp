#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "geometry/principal_plane.hpp"
#include "project.hpp"

namespace deepvoro {

// All pictures in the plane, neighbours near each other (t-SNE; principal components where they are
// very few or very many). A cell of a class is where one of its pictures is the nearest.
struct ProjectMap {
  std::vector<PlanePoint> points;  // of each sample of the classifier
  std::array<double, 4> bounds{};  // left, bottom, right, top
  std::size_t width = 0;           // of the raster of cells
  std::size_t height = 0;
  // Class and length of runs of the raster's elements, row by row from the top.
  std::vector<std::pair<std::size_t, std::size_t>> runs;
};

[[nodiscard]] ProjectMap map_project(const ProjectSnapshot& project);

}  // namespace deepvoro
