#include "study/paper/plane_diagrams.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "deepvoro/geometry/plda.hpp"
#include "heads/cluster_head.hpp"
#include "heads/logistic.hpp"

namespace deepvoro {
namespace {

PlanePoint mean_point(std::span<const PlanePoint> points) {
  PlanePoint sum{};
  for (const PlanePoint& point : points) {
    sum[0] += point[0];
    sum[1] += point[1];
  }
  const auto count = static_cast<double>(points.size());
  return {sum[0] / count, sum[1] / count};
}

Matrix<double> support_rows(const PlaneEpisode& episode) {
  Matrix<double> rows(episode.support.size(), 2);
  for (std::size_t i = 0; i < rows.rows(); ++i) std::ranges::copy(episode.support[i], rows.row(i));
  return rows;
}

template <class H>
PlaneInfluence influence_of(std::shared_ptr<const H> head) {
  return [head = std::move(head)](const PlanePoint& point, std::span<double> out) {
    std::array<double, padded(2)> query{};
    std::ranges::copy(point, query.begin());
    head->influence(query.data(), out);
  };
}

// Trained on the support.
template <class H>
std::shared_ptr<const H> trained(H head, const PlaneEpisode& episode) {
  const Matrix<double> rows = support_rows(episode);
  auto shared = std::make_shared<H>(std::move(head));
  shared->fit(
      {.rows = rows.view(), .ways = episode.shape.ways, .shots = episode.shape.shots, .stream = 0});
  return shared;
}

// Half the weights of a logistic regression.
std::vector<PlanePoint> centers_of(const LogisticHead& head) {
  std::vector<PlanePoint> centers;
  for (std::size_t k = 0; k < head.weights().rows(); ++k)
    centers.push_back({head.weights()[k][0] / 2, head.weights()[k][1] / 2});
  return centers;
}

// Tukey's ladder of a coordinate: lambda 0.5, 0.75 and 1. Square roots are the same everywhere.
PlanePoint image_of(const PlanePoint& point, std::size_t member) {
  PlanePoint image = point;
  for (double& coordinate : image) {
    const double root = std::sqrt(std::abs(coordinate));
    const double power = member == 0   ? root
                         : member == 1 ? root * std::sqrt(root)
                                       : std::abs(coordinate);
    coordinate = coordinate < 0 ? -power : power;
  }
  return image;
}

// The two-covariance model of the plane, without scaling points to one length, which would leave of
// a point in the plane its direction alone.
class PlanePlda {
 public:
  PlanePlda(const PlaneEpisode& episode, const std::vector<std::vector<std::size_t>>& base_rows,
            const std::string& origin)
      : model_(Plda().model({.dim = 2,
                             .by_class = base_rows,
                             .read =
                                 [&](std::size_t row, double* out) {
                                   std::fill_n(out, padded(2), 0.0);
                                   std::ranges::copy(episode.base[row], out);
                                 },
                             .origin = origin})),
        shots_(static_cast<double>(episode.shape.shots)) {
    for (const PlanePoint& prototype : episode.prototypes) {
      PlanePoint center = along_axes(prototype);
      for (std::size_t j = 0; j < 2; ++j) center[j] *= model_.psi[j] / (model_.psi[j] + 1 / shots_);
      centers_.push_back(center);
    }
  }

  void influence(const PlanePoint& point, std::span<double> out) const {
    const PlanePoint x = along_axes(point);
    for (std::size_t k = 0; k < out.size(); ++k) {
      double squared = 0;
      for (std::size_t j = 0; j < 2; ++j) {
        const double variance = 1 + model_.psi[j] / (shots_ * model_.psi[j] + 1);
        squared += (x[j] - centers_[k][j]) * (x[j] - centers_[k][j]) / variance;
      }
      out[k] = -std::sqrt(squared);
    }
  }

  // Where the shrunken prototypes lie in the plane.
  [[nodiscard]] std::vector<PlanePoint> centers() const {
    const std::vector<double>& a = model_.axes;  // axis j: a[2 j], a[2 j + 1]
    const double determinant = a[0] * a[3] - a[1] * a[2];
    std::vector<PlanePoint> points;
    for (const PlanePoint& c : centers_)
      points.push_back({model_.mean[0] + (c[0] * a[3] - c[1] * a[1]) / determinant,
                        model_.mean[1] + (c[1] * a[0] - c[0] * a[2]) / determinant});
    return points;
  }

 private:
  [[nodiscard]] PlanePoint along_axes(const PlanePoint& point) const {
    const double x = point[0] - model_.mean[0];
    const double y = point[1] - model_.mean[1];
    return {x * model_.axes[0] + y * model_.axes[1], x * model_.axes[2] + y * model_.axes[3]};
  }

  PldaModel model_;
  double shots_;
  std::vector<PlanePoint> centers_;  // along the axes
};

}  // namespace

PlaneEpisode in_plane(const ShownEpisode& shown) {
  const std::optional<PrincipalPlane> plane =
      shown.base.cols() == 2 ? std::nullopt
                             : std::optional<PrincipalPlane>(shown.base_means.view());
  const auto points_of = [&](const Matrix<double>& rows) {
    std::vector<PlanePoint> points;
    for (std::size_t r = 0; r < rows.rows(); ++r)
      points.push_back(plane ? (*plane)(rows.row(r)) : PlanePoint{rows.row(r)[0], rows.row(r)[1]});
    return points;
  };
  return {shown.shape,
          points_of(shown.support),
          points_of(shown.queries),
          points_of(shown.prototypes),
          points_of(shown.base),
          points_of(shown.base_means)};
}

double plane_distance(const PlanePoint& a, const PlanePoint& b) {
  const double x = a[0] - b[0];
  const double y = a[1] - b[1];
  return std::sqrt(x * x + y * y);
}

PlaneInfluence nearest_center(std::vector<PlanePoint> centers) {
  return [centers = std::move(centers)](const PlanePoint& point, std::span<double> out) {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = -plane_distance(point, centers[k]);
  };
}

PlaneDiagram power_diagram(const PlaneEpisode& episode) {
  const auto head = trained(LogisticHead(LogisticOptions{.kind = LogisticKind::power}), episode);
  return {influence_of(head), centers_of(*head)};
}

PlaneDiagram cluster_induced(const PlaneEpisode& episode) {
  const auto voronoi = [] { return LogisticHead(LogisticOptions{.kind = LogisticKind::voronoi}); };
  std::vector<PlanePoint> centers = episode.prototypes;
  std::ranges::copy(centers_of(*trained(voronoi(), episode)), std::back_inserter(centers));
  return {influence_of(trained(ClusterHead(voronoi(), Influence(1)), episode)), centers};
}

PlaneDiagram cluster_to_cluster(const PlaneEpisode& episode) {
  constexpr std::size_t members = 3;
  std::vector<std::vector<PlanePoint>> centers(members);
  for (std::size_t m = 0; m < members; ++m)
    for (std::size_t way = 0; way < episode.shape.ways; ++way) {
      std::vector<PlanePoint> images;
      for (std::size_t i = 0; i < episode.shape.shots; ++i)
        images.push_back(image_of(episode.support[way * episode.shape.shots + i], m));
      centers[m].push_back(mean_point(images));
    }
  return {[centers](const PlanePoint& point, std::span<double> out) {
            std::ranges::fill(out, 0);
            for (std::size_t m = 0; m < members; ++m) {
              const PlanePoint image = image_of(point, m);
              for (std::size_t k = 0; k < out.size(); ++k)
                out[k] -= plane_distance(image, centers[m][k]);
            }
          },
          episode.prototypes};
}

PlaneDiagram two_covariance(const PlaneEpisode& episode,
                            const std::vector<std::vector<std::size_t>>& base_rows,
                            const std::string& origin) {
  const auto model = std::make_shared<const PlanePlda>(episode, base_rows, origin);
  return {[model](const PlanePoint& point, std::span<double> out) { model->influence(point, out); },
          model->centers()};
}

}  // namespace deepvoro
