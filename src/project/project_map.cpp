#include "project_map.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "classifier/support_points.hpp"
#include "deepvoro/core/parallel.hpp"
#include "study/paper/tsne.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kUsualPerplexity = 30;
constexpr std::size_t kFewestForNeighbours = 8;
// Time grows with the square of their number.
constexpr std::size_t kMostForNeighbours = 800;
constexpr std::size_t kNeighbourSteps = 500;
constexpr std::size_t kRasterWidth = 160;
constexpr double kFewestRows = 40;
constexpr double kMostRows = 320;
constexpr double kMargin = 0.06;  // of the extent, on each side

std::vector<PlanePoint> placed(const Matrix<double>& rows) {
  if (rows.rows() >= kFewestForNeighbours && rows.rows() <= kMostForNeighbours) {
    const std::size_t perplexity = std::min(kUsualPerplexity, (rows.rows() - 1) / 3);
    return embed_in_plane(rows.view(), perplexity, kNeighbourSteps, available_threads()).points;
  }
  const PrincipalPlane plane(rows.view());
  std::vector<PlanePoint> points;
  for (std::size_t i = 0; i < rows.rows(); ++i) points.push_back(plane(rows.row(i)));
  return points;
}

// Elements of the raster are squares: what there is less of is made larger.
void frame(ProjectMap& map) {
  std::array<double, 4>& bounds = map.bounds;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const auto at = [axis](const PlanePoint& point) { return point[axis]; };
    const double low = at(*std::ranges::min_element(map.points, {}, at));
    const double high = at(*std::ranges::max_element(map.points, {}, at));
    const double margin = high > low ? kMargin * (high - low) : 1.0;
    bounds[axis] = low - margin;
    bounds[axis + 2] = high + margin;
  }
  map.width = kRasterWidth;
  const double side = (bounds[2] - bounds[0]) / static_cast<double>(map.width);
  const double rows = std::ceil((bounds[3] - bounds[1]) / side);
  map.height = static_cast<std::size_t>(std::clamp(rows, kFewestRows, kMostRows));
  const double used = std::max(side, (bounds[3] - bounds[1]) / static_cast<double>(map.height));
  const auto widen = [&](std::size_t axis, std::size_t count) {
    const double missing = used * static_cast<double>(count) - (bounds[axis + 2] - bounds[axis]);
    bounds[axis] -= missing / 2;
    bounds[axis + 2] += missing / 2;
  };
  widen(0, map.width);
  widen(1, map.height);
}

std::size_t nearest(std::span<const PlanePoint> points, double x, double y) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double dx = points[i][0] - x;
    const double dy = points[i][1] - y;
    const double squared = dx * dx + dy * dy;
    if (squared < least) {
      least = squared;
      best = i;
    }
  }
  return best;
}

}  // namespace

ProjectMap map_project(const ProjectSnapshot& project) {
  ProjectMap map;
  if (!project.classifier) return map;
  const Classifier& classifier = *project.classifier;
  map.points = placed(support_points(classifier.samples(), classifier.calibration(),
                                     classifier.statistics(), available_threads()));
  frame(map);
  const auto [left, bottom, right, top] = map.bounds;
  for (std::size_t row = 0; row < map.height; ++row)
    for (std::size_t column = 0; column < map.width; ++column) {
      // Middles of the raster's elements.
      const double x = left + (right - left) * (static_cast<double>(column) + 0.5) /
                                  static_cast<double>(map.width);
      const double y =
          top - (top - bottom) * (static_cast<double>(row) + 0.5) / static_cast<double>(map.height);
      const std::size_t label = classifier.labels()[nearest(map.points, x, y)];
      if (map.runs.empty() || map.runs.back().first != label) map.runs.emplace_back(label, 0);
      ++map.runs.back().second;
    }
  return map;
}

}  // namespace deepvoro
