#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/plot.hpp"
#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

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

// Samples whose nearest neighbour in the plane is of their own class, in percent.
double beside_own_class(const std::vector<Point>& points, const StudyRows& rows) {
  std::vector<std::string> classes;
  for (std::size_t r = 0; r < rows.size(); ++r) classes.push_back(rows.text(r, "class"));
  std::size_t found = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::size_t nearest = i;
    double least = HUGE_VAL;
    for (std::size_t j = 0; j < points.size(); ++j) {
      const double apart = std::hypot(points[i].x - points[j].x, points[i].y - points[j].y);
      if (j == i || apart >= least) continue;
      least = apart;
      nearest = j;
    }
    found += nearest != i && classes[nearest] == classes[i] ? 1U : 0U;
  }
  return 100 * static_cast<double>(found) / static_cast<double>(points.size());
}

struct ClassLabel {
  Point at;
  std::string words;
  std::size_t of_class = 0;
};

// Down, until none lies on another.
void write_labels(Panel& panel, std::vector<ClassLabel> labels) {
  constexpr double line = 15;
  std::ranges::sort(labels, {}, [&](const ClassLabel& label) { return panel.y(label.at.y); });
  std::vector<double> heights;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    double height = panel.y(labels[i].at.y);
    for (std::size_t j = 0; j < i; ++j) {
      const double beside = std::abs(panel.x(labels[i].at.x) - panel.x(labels[j].at.x));
      const double widths = text_width(labels[i].words) + text_width(labels[j].words);
      if (beside < 1.15 * widths / 2 && std::abs(height - heights[j]) < line)
        height = heights[j] + line;
    }
    heights.push_back(height);
    panel.text(labels[i].at, labels[i].words, fmt::format("lb halo s{}", labels[i].of_class % 8),
               "middle", 0, height - panel.y(labels[i].at.y));
  }
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
        .title = {},
        .panels = {},
        .note =
            "t-SNE of the same samples after each transformation; the percentage is of samples "
            "whose nearest neighbour in the plane is of their class. Distances between far "
            "groups mean nothing in such a picture.",
        .csv = rows.csv(),
        .made_by = provenance(study)};
    std::vector<double> shares;
    for (const StudyRows& of_panel : panels) {
      std::vector<Point> all;
      for (std::size_t r = 0; r < of_panel.size(); ++r)
        all.push_back({of_panel.number(r, "x"), of_panel.number(r, "y")});
      const auto [x, y] = square_axes(all);
      const std::string name = of_panel.text(0, "panel");
      const char* known = embedding_title(name);
      const double percent = beside_own_class(all, of_panel);
      shares.push_back(percent);
      const std::string title =
          fmt::format("{}: {:.0f} %", known != nullptr ? known : shortened(name, 32), percent);
      Panel panel(title, x, y,
                  {.width = 360, .height = 372, .left = 6, .right = 6, .top = 24, .bottom = 6});
      panel.rectangle({x.low, y.low}, {x.high, y.high}, "mat", "", "");
      std::vector<ClassLabel> labels;  // over all points
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
        labels.push_back({middle, class_label(classes[c], 20), c});
      }
      write_labels(panel, std::move(labels));
      figure.panels.push_back(panel.drawing(title));
    }
    const auto [least, most] = std::ranges::minmax(shares);
    figure.title = fmt::format(
        "In the plane {:.0f} to {:.0f} % of the samples lie beside one of their class, {}", least,
        most, rows.text(0, "store"));
    blocks.emplace_back(std::move(figure));
  }
  return blocks;
}

}  // namespace deepvoro
