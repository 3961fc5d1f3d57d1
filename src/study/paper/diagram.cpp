#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/base64.hpp"
#include "deepvoro/core/error.hpp"
#include "study/paper/plane_diagrams.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kPixels = 400;  // along a side
constexpr std::size_t kBaseClassesPerWay = 2;
constexpr std::size_t kMostBaseClasses = 12;  // that are all shown
constexpr std::size_t kSamplesPerBaseClass = 40;

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

class Panels {
 public:
  Panels(const StudyUnit& unit, const ShownEpisode& shown, const PlaneEpisode& episode)
      : unit_(unit),
        shown_(shown),
        episode_(episode),
        projection_(shown.base.cols() == 2
                        ? "features of two dimensions"
                        : "the plane in which the means of the base classes differ most (their "
                          "first two principal components)") {}

  void add_base() {
    std::vector<PlanePoint> centers;
    std::vector<PlanePoint> all;
    for (const std::size_t i : shown_base_classes()) {
      add_point("base, vd", "center", centers.size(), shown_.base_classes[i],
                episode_.base_means[i]);
      for (const PlanePoint& sample : base_samples(i)) {
        add_point("base, vd", "sample", centers.size(), shown_.base_classes[i], sample);
        all.push_back(sample);
      }
      centers.push_back(episode_.base_means[i]);
    }
    all.insert(all.end(), centers.begin(), centers.end());
    add_cells("base, vd", "vd", "base", window_around(all), centers.size(),
              nearest_center(centers));
  }

  void add_novel(const char* geometry, const PlaneDiagram& diagram) {
    const auto& [influence, centers] = diagram;
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

 private:
  // All of them, or where they are many those that would be surrogates of the ways for a small R.
  [[nodiscard]] std::set<std::size_t> shown_base_classes() const {
    std::vector<std::size_t> order(episode_.base_means.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (order.size() <= kMostBaseClasses) return {order.begin(), order.end()};
    std::set<std::size_t> nearest;
    for (const PlanePoint& prototype : episode_.prototypes) {
      std::ranges::sort(order);
      std::ranges::stable_sort(order, {}, [&](std::size_t i) {
        return plane_distance(prototype, episode_.base_means[i]);
      });
      nearest.insert(order.begin(), order.begin() + kBaseClassesPerWay);
    }
    return nearest;
  }

  // The first ones, where the plane is the features' own; a projection throws classes together.
  [[nodiscard]] std::vector<PlanePoint> base_samples(std::size_t base_class) const {
    std::vector<PlanePoint> samples;
    if (shown_.base.cols() != 2) return samples;
    for (const std::size_t row : shown_.base_rows[base_class])
      if (samples.size() < kSamplesPerBaseClass) samples.push_back(episode_.base[row]);
    return samples;
  }

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
                                   shown_.preparation + "; " + projection_,
                                   base64(std::as_bytes(std::span(cells)))});
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
  const PlaneEpisode& episode_;
  std::string projection_;
};

void run_diagram(const StudyUnit& unit) {
  constexpr std::size_t most_ways = 256;  // a cell is a byte
  if (unit.plan.shape.ways > most_ways)
    throw usage_error(fmt::format("`ways` {}: a diagram has at most {} classes",
                                  unit.plan.shape.ways, most_ways));
  const ShownEpisode shown(unit);
  const PlaneEpisode episode = in_plane(shown);
  Panels panels(unit, shown, episode);
  panels.add_base();
  panels.add_novel("vd", {nearest_center(episode.prototypes), episode.prototypes});
  panels.add_novel("power", power_diagram(episode));
  panels.add_novel("civd", cluster_induced(episode));
  panels.add_novel("ccvd", cluster_to_cluster(episode));
  panels.add_novel("plda",
                   two_covariance(episode, shown.base_rows, unit.store.features.folder().string()));
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
