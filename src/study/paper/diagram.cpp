#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include "deepvoro/core/error.hpp"
#include "deepvoro/geometry/plda.hpp"
#include "geometry/principal_plane.hpp"
#include "heads/cluster_head.hpp"
#include "heads/logistic.hpp"
#include "study/paper/shown_episode.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kPixels = 200;  // along a side
constexpr std::size_t kBaseClassesPerWay = 2;

// Larger is nearer, for each class.
using PlaneInfluence = std::function<void(const PlanePoint& point, std::span<double> out)>;

double distance(const PlanePoint& a, const PlanePoint& b) {
  const double x = a[0] - b[0];
  const double y = a[1] - b[1];
  return std::sqrt(x * x + y * y);
}

PlanePoint mean_point(std::span<const PlanePoint> points) {
  PlanePoint sum{};
  for (const PlanePoint& point : points) {
    sum[0] += point[0];
    sum[1] += point[1];
  }
  const auto count = static_cast<double>(points.size());
  return {sum[0] / count, sum[1] / count};
}

// The episode in the plane.
struct PlaneEpisode {
  EpisodeShape shape;
  std::vector<PlanePoint> support;  // class by class
  std::vector<PlanePoint> queries;  // the same
  std::vector<PlanePoint> prototypes;
  std::vector<PlanePoint> base;
  std::vector<PlanePoint> base_means;
};

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

// A square around some points, with a margin.
struct Window {
  double x0, y0, x1, y1;
};

Window window_around(std::span<const PlanePoint> points) {
  constexpr double margin = 1.15;
  const auto range_of = [&](std::size_t axis) {
    const auto coordinate = [&](const PlanePoint& point) { return point[axis]; };
    return std::pair(coordinate(std::ranges::min(points, {}, coordinate)),
                     coordinate(std::ranges::max(points, {}, coordinate)));
  };
  const auto [left, right] = range_of(0);
  const auto [bottom, top] = range_of(1);
  const double longest = std::max(right - left, top - bottom);
  const double half = (longest > 0 ? longest : 1) / 2 * margin;
  const double x = (left + right) / 2;
  const double y = (bottom + top) / 2;
  return {x - half, y - half, x + half, y + half};
}

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8U | (k < count ? bytes[i + k] : std::uint8_t{0});
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= count ? digits[word >> (18 - 6 * k) & 63U] : '=';
  }
  return text;
}

Matrix<double> padded_rows(std::span<const PlanePoint> points) {
  Matrix<double> rows(points.size(), 2);
  for (std::size_t i = 0; i < points.size(); ++i) std::ranges::copy(points[i], rows.row(i));
  return rows;
}

PlaneInfluence nearest_of(std::vector<PlanePoint> centers) {
  return [centers = std::move(centers)](const PlanePoint& point, std::span<double> out) {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = -distance(point, centers[k]);
  };
}

template <class H>
PlaneInfluence influence_of(std::shared_ptr<const H> head) {
  return [head = std::move(head)](const PlanePoint& point, std::span<double> out) {
    std::array<double, padded(2)> query{};
    std::ranges::copy(point, query.begin());
    head->influence(query.data(), out);
  };
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

PlaneInfluence cluster_to_cluster(const PlaneEpisode& episode) {
  constexpr std::size_t members = 3;
  std::vector<std::vector<PlanePoint>> centers(members);
  for (std::size_t m = 0; m < members; ++m)
    for (std::size_t way = 0; way < episode.shape.ways; ++way) {
      std::vector<PlanePoint> images;
      for (std::size_t i = 0; i < episode.shape.shots; ++i)
        images.push_back(image_of(episode.support[way * episode.shape.shots + i], m));
      centers[m].push_back(mean_point(images));
    }
  return [centers](const PlanePoint& point, std::span<double> out) {
    std::ranges::fill(out, 0);
    for (std::size_t m = 0; m < members; ++m) {
      const PlanePoint image = image_of(point, m);
      for (std::size_t k = 0; k < out.size(); ++k) out[k] -= distance(image, centers[m][k]);
    }
  };
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

class Panels {
 public:
  Panels(const StudyUnit& unit, const ShownEpisode& shown)
      : unit_(unit),
        shown_(shown),
        episode_(in_plane(shown)),
        projection_(shown.base.cols() == 2
                        ? "features of two dimensions"
                        : "the plane in which the means of the base classes differ most (their "
                          "first two principal components)") {}

  void add_base() {
    std::set<std::size_t> nearest;  // the surrogate classes of a small R, in the plane
    for (const PlanePoint& prototype : episode_.prototypes) {
      std::vector<std::size_t> order(episode_.base_means.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::ranges::stable_sort(
          order, {}, [&](std::size_t i) { return distance(prototype, episode_.base_means[i]); });
      nearest.insert(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                        kBaseClassesPerWay, order.size())));
    }
    std::vector<PlanePoint> centers;
    std::vector<std::string> names;
    for (const std::size_t i : nearest) {
      centers.push_back(episode_.base_means[i]);
      names.push_back(shown_.base_classes[i]);
    }
    add_cells("base, vd", "vd", "base", window_around(centers), names.size(), nearest_of(centers));
    for (std::size_t i = 0; i < centers.size(); ++i)
      add_point("base, vd", "center", i, names[i], centers[i]);
  }

  void add_novel(const char* geometry, const PlaneInfluence& influence,
                 std::span<const PlanePoint> centers) {
    const std::string panel = std::string("novel, ") + geometry;
    std::vector<PlanePoint> all = episode_.support;
    all.insert(all.end(), episode_.queries.begin(), episode_.queries.end());
    add_cells(panel, geometry, "novel", window_around(all), shown_.shape.ways, influence);
    const auto way_of = [&](std::size_t i, std::size_t of_way) { return i / of_way; };
    for (std::size_t i = 0; i < centers.size(); ++i)
      add_novel_point(panel, "center", i % shown_.shape.ways, centers[i]);
    for (std::size_t i = 0; i < episode_.support.size(); ++i)
      add_novel_point(panel, "support", way_of(i, shown_.shape.shots), episode_.support[i]);
    std::vector<double> scores(shown_.shape.ways);
    for (std::size_t i = 0; i < episode_.queries.size(); ++i) {
      const std::size_t way = way_of(i, shown_.shape.queries);
      influence(episode_.queries[i], scores);
      add_novel_point(panel, cell_of(scores) == way ? "query" : "query-wrong", way,
                      episode_.queries[i]);
    }
  }

  [[nodiscard]] const PlaneEpisode& episode() const { return episode_; }

 private:
  void add_cells(const std::string& panel, const char* geometry, const char* split,
                 const Window& window, std::size_t classes, const PlaneInfluence& influence) {
    std::vector<std::uint8_t> cells;
    std::vector<double> scores(classes);
    const auto place = [](double low, double high, std::size_t pixel) {
      return low + (high - low) * (static_cast<double>(pixel) + 0.5) / kPixels;
    };
    for (std::size_t row = 0; row < kPixels; ++row)
      for (std::size_t column = 0; column < kPixels; ++column) {
        influence(
            {place(window.x0, window.x1, column), place(window.y0, window.y1, kPixels - 1 - row)},
            scores);
        cells.push_back(static_cast<std::uint8_t>(cell_of(scores)));
      }
    unit_.run.table("panels").add({unit_.store.name, unit_.shots(), panel, geometry, split, kPixels,
                                   kPixels, window.x0, window.y0, window.x1, window.y1,
                                   shown_.preparation + "; " + projection_, base64(cells)});
  }

  void add_point(const std::string& panel, const char* role, std::size_t index,
                 const std::string& name, const PlanePoint& point) {
    unit_.run.table("points").add(
        {unit_.store.name, unit_.shots(), panel, role, index, name, point[0], point[1]});
  }
  void add_novel_point(const std::string& panel, const char* role, std::size_t way,
                       const PlanePoint& point) {
    add_point(panel, role, way, shown_.classes[way], point);
  }

  const StudyUnit& unit_;
  const ShownEpisode& shown_;
  PlaneEpisode episode_;
  std::string projection_;
};

void run_diagram(const StudyUnit& unit) {
  constexpr std::size_t most_ways = 256;  // a cell is a byte
  if (unit.plan.shape.ways > most_ways)
    throw usage_error(fmt::format("`ways` {}: a diagram has at most {} classes",
                                  unit.plan.shape.ways, most_ways));
  const ShownEpisode shown(unit);
  Panels panels(unit, shown);
  const PlaneEpisode& episode = panels.episode();
  const Matrix<double> rows = padded_rows(episode.support);
  const Support support{
      .rows = rows.view(), .ways = shown.shape.ways, .shots = shown.shape.shots, .stream = 0};
  const auto halves = [](const LogisticHead& head) {
    std::vector<PlanePoint> centers;
    for (std::size_t k = 0; k < head.weights().rows(); ++k)
      centers.push_back({head.weights()[k][0] / 2, head.weights()[k][1] / 2});
    return centers;
  };

  panels.add_base();
  panels.add_novel("vd", nearest_of(episode.prototypes), episode.prototypes);

  const auto power = std::make_shared<LogisticHead>(LogisticOptions{.kind = LogisticKind::power});
  power->fit(support);
  panels.add_novel("power", influence_of<LogisticHead>(power), halves(*power));

  LogisticHead voronoi(LogisticOptions{.kind = LogisticKind::voronoi});
  voronoi.fit(support);
  std::vector<PlanePoint> centers = episode.prototypes;
  std::ranges::copy(halves(voronoi), std::back_inserter(centers));
  const auto cluster = std::make_shared<ClusterHead>(
      LogisticHead(LogisticOptions{.kind = LogisticKind::voronoi}), Influence(1));
  cluster->fit(support);
  panels.add_novel("civd", influence_of<ClusterHead>(cluster), centers);

  panels.add_novel("ccvd", cluster_to_cluster(episode), episode.prototypes);

  const PlanePlda plda(episode, shown.base_rows, unit.store.features.folder().string());
  panels.add_novel(
      "plda", [&](const PlanePoint& point, std::span<double> out) { plda.influence(point, out); },
      plda.centers());
}

}  // namespace

PaperStudy diagram_study() {
  return {
      .description = {.name = "diagram",
                      .title = "Cells of base and novel classes in the plane",
                      .paper = "Figure flow, left and middle",
                      .example = "data/quickdraw --out paper"},
      .shots = {1},
      .splits = {"base"},
      .tables = {{"panels",
                  "Cells of the classes at every pixel, one byte each in base64, rows from the top",
                  {{"store", "store"},
                   {"shots", "shots"},
                   {"panel", "panel"},
                   {"geometry", "geometry"},
                   {"split", "split"},
                   {"width", "width", "pixels"},
                   {"height", "height", "pixels"},
                   {"x0", "left"},
                   {"y0", "bottom"},
                   {"x1", "right"},
                   {"y1", "top"},
                   {"projection", "what the plane is"},
                   {"cells", "class of each pixel"}}},
                 {"points",
                  "Centers, support and queries of the first episode",
                  {{"store", "store"},
                   {"shots", "shots"},
                   {"panel", "panel"},
                   {"role", "role"},
                   {"class", "class in the panel"},
                   {"class_name", "class"},
                   {"x", "x"},
                   {"y", "y"}}}},
      .run = run_diagram};
}

}  // namespace deepvoro
