#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "deepvoro/core/error.hpp"
#include "report/base64.hpp"
#include "report/cells.hpp"
#include "report/plot.hpp"
#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kMostPixels = 400;  // along a side

// Equal axes around all points.
std::pair<Axis, Axis> square_axes(const std::vector<Point>& points) {
  double x0 = HUGE_VAL;
  double x1 = -HUGE_VAL;
  double y0 = HUGE_VAL;
  double y1 = -HUGE_VAL;
  for (const Point& point : points) {
    x0 = std::min(x0, point.x);
    x1 = std::max(x1, point.x);
    y0 = std::min(y0, point.y);
    y1 = std::max(y1, point.y);
  }
  const double half = std::max({x1 - x0, y1 - y0, 1e-9}) * 0.54;
  return {bare_axis((x0 + x1) / 2 - half, (x0 + x1) / 2 + half),
          bare_axis((y0 + y1) / 2 - half, (y0 + y1) / 2 + half)};
}

const char* embedding_title(const std::string& panel) {
  if (panel == "raw") return "A  features as they are";
  if (panel == "l2") return "B  of unit length";
  if (panel == "tukey") return "C  square root (λ = 0.5)";
  if (panel == "composed") return "D  log with an offset (λ = 0)";
  return nullptr;
}

std::vector<std::uint8_t> cells_of(const StudyRows& rows, std::size_t row, std::size_t width,
                                   std::size_t height) {
  const auto bytes = from_base64(rows.text(row, "cells"));
  if (width < 1 || height < 1 || width > kMostPixels || height > kMostPixels || !bytes ||
      bytes->size() != width * height)
    throw data_error(fmt::format(
        "{}: row {} has cells that are not width x height bytes in base64, at most {} on a side",
        rows.table().where, row, kMostPixels));
  std::vector<std::uint8_t> cells;
  for (const std::byte value : *bytes) cells.push_back(std::to_integer<std::uint8_t>(value));
  return cells;
}

std::string cell_layers(const std::vector<std::uint8_t>& cells, std::size_t width,
                        std::size_t height, const PanelLayout& layout) {
  const double sx = (layout.width - layout.left - layout.right) / static_cast<double>(width);
  const double sy = (layout.height - layout.top - layout.bottom) / static_cast<double>(height);
  std::string tints;
  std::string borders;
  for (const CellOutline& outline : cell_outlines(cells, width, height)) {
    std::string path;
    for (const auto& loop : outline.loops) {
      for (std::size_t i = 0; i < loop.size(); ++i)
        path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", layout.left + sx * loop[i].first,
                            layout.top + sy * loop[i].second);
      path += "Z";
    }
    // Tints reach under their neighbours, so that there is no seam.
    tints += fmt::format("<path class=\"tint k{}\" d=\"{}\"/>\n", outline.label % 8, path);
    borders += path;
  }
  return tints + fmt::format("<path class=\"edge\" d=\"{}\"/>\n", borders);
}

std::string diagram_panel(const StudyRows& panels, std::size_t row, const StudyRows& points,
                          const std::string& title) {
  const std::size_t width = as_count(panels.number(row, "width"));
  const std::size_t height = as_count(panels.number(row, "height"));
  const std::vector<std::uint8_t> cells = cells_of(panels, row, width, height);
  const double ratio = static_cast<double>(height) / static_cast<double>(width);
  PanelLayout layout{.width = 360, .height = 0, .left = 2, .right = 2, .top = 24, .bottom = 4};
  layout.height = layout.top + layout.bottom + 356 * std::clamp(ratio, 0.25, 4.0);
  Panel panel(title, bare_axis(panels.number(row, "x0"), panels.number(row, "x1")),
              bare_axis(panels.number(row, "y0"), panels.number(row, "y1")), layout);
  panel.raw(cell_layers(cells, width, height, layout));
  for (const char* role : {"query", "query-wrong", "support", "center"}) {
    const StudyRows of_role = points.where("role", role);
    for (std::size_t r = 0; r < of_role.size(); ++r) {
      const Point at{of_role.number(r, "x"), of_role.number(r, "y")};
      const Series series = series_of_class(as_count(of_role.maybe(r, "class").value_or(0)));
      const std::string tip =
          fmt::format("{} {}", of_role.text(r, "class_name"),
                      std::string_view(role) == "query-wrong" ? "query, misclassified" : role);
      if (std::string_view(role) == "center") {
        panel.raw(fmt::format("<path class=\"cross\" d=\"M{:.1f} {:.1f}h10m-5 -5v10\"/>\n",
                              panel.x(at.x) - 5, panel.y(at.y)));
        continue;
      }
      if (std::string_view(role) == "query-wrong")
        panel.raw(fmt::format("<circle class=\"ring\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6.5\"/>\n",
                              panel.x(at.x), panel.y(at.y)));
      const bool is_query = std::string_view(role) != "support";
      panel.marker(at, {.colour = series.colour, .marker = is_query ? 0U : 1U}, tip, is_query,
                   is_query ? 3.0 : 5.0);
    }
  }
  return panel.svg(title + ": cells of the classes in the plane");
}

}  // namespace

std::vector<Block> embedding_blocks(const RecordedStudy& study) {
  const RecordedTable* table = study.table("points");
  if (table == nullptr) return plain_blocks(study);
  std::vector<Block> blocks;
  std::size_t number = 0;
  for (const StudyRows& rows : StudyRows(*table).split_by({"store"})) {
    const std::vector<std::string> classes = rows.distinct("class");
    const std::vector<StudyRows> panels = rows.split_by({"panel"});
    Figure figure{
        .id = fmt::format("embedding-{}", ++number),
        .title = fmt::format("The same {} classes of {}, seen through {} transformations (t-SNE)",
                             classes.size(), rows.text(0, "store"), panels.size()),
        .panels = {},
        .note = "Distances between far groups mean nothing in such a picture.",
        .csv = rows.csv(),
        .made_by = provenance(study)};
    for (const StudyRows& of_panel : panels) {
      std::vector<Point> all;
      for (std::size_t r = 0; r < of_panel.size(); ++r)
        all.push_back({of_panel.number(r, "x"), of_panel.number(r, "y")});
      const auto [x, y] = square_axes(all);
      const std::string name = of_panel.text(0, "panel");
      const char* known = embedding_title(name);
      const std::string title = known != nullptr ? known : shortened(name, 40);
      Panel panel(title, x, y,
                  {.width = 360, .height = 372, .left = 6, .right = 6, .top = 24, .bottom = 6});
      panel.rectangle({x.low, y.low}, {x.high, y.high}, "mat", "", "");
      std::vector<std::pair<Point, std::size_t>> labels;  // over all points
      for (std::size_t c = 0; c < classes.size(); ++c) {
        const StudyRows of_class = of_panel.where("class", classes[c]);
        if (of_class.size() == 0) continue;
        std::vector<Point> points;
        std::vector<double> xs;
        std::vector<double> ys;
        for (std::size_t r = 0; r < of_class.size(); ++r) {
          points.push_back({of_class.number(r, "x"), of_class.number(r, "y")});
          xs.push_back(points.back().x);
          ys.push_back(points.back().y);
        }
        std::ranges::sort(xs);
        std::ranges::sort(ys);
        const Point middle{xs[xs.size() / 2], ys[ys.size() / 2]};
        panel.dots(points, series_of_class(c), classes[c], 5);
        labels.emplace_back(middle, c);
      }
      for (const auto& [middle, c] : labels)
        panel.text(middle, shortened(classes[c], 20), fmt::format("lb halo s{}", c % 8), "middle");
      figure.panels.push_back(panel.svg(title));
    }
    blocks.emplace_back(std::move(figure));
  }
  return blocks;
}

std::vector<Block> diagram_blocks(const RecordedStudy& study) {
  const RecordedTable* panels = study.table("panels");
  const RecordedTable* points = study.table("points");
  if (panels == nullptr || points == nullptr) return plain_blocks(study);
  std::vector<Block> blocks;
  std::size_t number = 0;
  for (const StudyRows& rows : StudyRows(*panels).split_by({"store", "shots"})) {
    Figure figure{.id = fmt::format("diagram-{}", ++number),
                  .title = {},
                  .panels = {},
                  .note =
                      "Crosses: centers. Squares: support. Hollow: queries; ringed where they lie "
                      "in the cell of another class.",
                  .made_by = provenance(study)};
    StudyRows of_store(*points);
    for (const char* column : {"store", "shots"})
      if (of_store.has(column) && rows.has(column))
        of_store = of_store.where(column, rows.text(0, column));
    figure.csv = of_store.csv();
    std::vector<std::string> wrong;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::string name = rows.text(r, "panel");
      const StudyRows of_panel = of_store.where("panel", name);
      const std::size_t missed = of_panel.where("role", "query-wrong").size();
      const std::size_t asked = missed + of_panel.where("role", "query").size();
      figure.panels.push_back(
          diagram_panel(rows, r, of_panel,
                        asked > 0 ? fmt::format("{}: {} of {} wrong", name, missed, asked) : name));
      if (asked > 0) wrong.push_back(fmt::format("{} ({} wrong)", name, missed));
    }
    figure.title = wrong.empty()
                       ? fmt::format("How the plane is divided, {}", rows.text(0, "store"))
                       : fmt::format("How the plane is divided: {}", listed(wrong));
    blocks.emplace_back(std::move(figure));
  }
  return blocks;
}

}  // namespace deepvoro
