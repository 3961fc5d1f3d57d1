#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/plot.hpp"
#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

// Rows of another table of the study with the same store, shots and method.
StudyRows alike(const RecordedTable& table, const std::string& store, const std::string& shots,
                const std::string& method) {
  StudyRows rows(table);
  if (rows.has("store")) rows = rows.where("store", store);
  if (rows.has("shots")) rows = rows.where("shots", shots);
  if (rows.has("method")) rows = rows.where("method", method);
  return rows;
}

struct SizeCurves {
  std::string store;
  std::string shots;
  std::string method;
  StudyRows random;
  StudyRows guided;
  StudyRows chosen;
};

std::vector<Point> curve(const StudyRows& rows, const char* column, double offset_sign = 0) {
  std::vector<Point> points;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto value = rows.maybe(r, column);
    if (!value) continue;
    points.push_back({std::max(1.0, rows.number(r, "size")),
                      *value + offset_sign * rows.maybe(r, "sd").value_or(0)});
  }
  std::ranges::sort(points, {}, &Point::x);
  return points;
}

std::optional<std::size_t> row_of(const StudyRows& chosen, const char* scheme) {
  for (std::size_t r = 0; r < chosen.size(); ++r)
    if (chosen.text(r, "scheme") == scheme) return r;
  return std::nullopt;
}

Drawing size_panel(const SizeCurves& of) {
  const std::vector<Point> mean = curve(of.random, "mean");
  const std::vector<Point> lowest = curve(of.random, "lowest");
  const std::vector<Point> highest = curve(of.random, "highest");
  const std::vector<Point> guided = curve(of.guided, "novel");
  const std::vector<Point> guided_val = curve(of.guided, "val");
  std::vector<double> x;
  std::vector<double> y;
  for (const auto* points : {&mean, &lowest, &highest, &guided, &guided_val})
    for (const Point& point : *points) {
      x.push_back(point.x);
      y.push_back(point.y);
    }
  if (const auto row = row_of(of.chosen, "guided"))
    for (const double side : {-1.0, 1.0})
      y.push_back(of.chosen.number(*row, "novel") +
                  side * of.chosen.maybe(*row, "ci95").value_or(0));
  const std::string title = joined({of.method, shots_text(of.shots), of.store});
  Panel panel(title, log_axis("members", x), accuracy_axis("accuracy, %", y),
              {.height = 290, .right = label_room(std::vector<std::string>{"guided, novel"})});
  const Series random{.colour = 4};
  if (lowest.size() == highest.size() && lowest.size() > 1) panel.band(lowest, highest, random);
  if (mean.size() > 1)
    panel.band(curve(of.random, "mean", -1), curve(of.random, "mean", 1), random, true);
  std::vector<std::pair<double, std::string>> labels;
  std::vector<Series> series;
  const auto add = [&](const std::vector<Point>& points, Series style, const std::string& name) {
    if (points.size() < 2) return;
    panel.line(points, style);
    labels.emplace_back(points.back().y, name);
    series.push_back(style);
  };
  add(mean, random, "random");
  add(guided_val, {.colour = 0, .marker = 0, .dashed = true}, "guided, val");
  add(guided, kOurs, "guided, novel");
  for (const Point& point : mean)
    panel.marker(point, random, fmt::format("{:g} random members: mean {:.2f} %", point.x, point.y),
                 false, 2.2);
  if (const auto row = row_of(of.chosen, "guided")) {
    const double size = std::max(1.0, of.chosen.number(*row, "size"));
    panel.rule_x(size, fmt::format("chosen on val: {:g}", size));
    panel.interval_y(
        {size, of.chosen.number(*row, "novel")}, of.chosen.maybe(*row, "ci95").value_or(0), kOurs,
        fmt::format("guided, {:g} members chosen on val: {}", size,
                    estimate_text(of.chosen.number(*row, "novel"), of.chosen.maybe(*row, "ci95"))));
  }
  if (const auto row = row_of(of.chosen, "oracle"))
    panel.marker({std::max(1.0, of.chosen.number(*row, "size")), of.chosen.number(*row, "novel")},
                 {.colour = 3, .marker = 2},
                 fmt::format("oracle, {} members: {:.2f} %, chosen on novel itself, not a result",
                             of.chosen.text(*row, "size"), of.chosen.number(*row, "novel")),
                 true, 4.5);
  panel.end_labels(labels, series);
  return panel.drawing(title + ", accuracy by the number of members");
}

}  // namespace

std::vector<Block> ensemble_size_blocks(const RecordedStudy& study) {
  const RecordedTable* random = study.table("random");
  const RecordedTable* guided = study.table("guided");
  const RecordedTable* chosen = study.table("chosen");
  if (random == nullptr || guided == nullptr || chosen == nullptr) return plain_blocks(study);
  std::vector<Block> blocks;
  std::size_t number = 0;
  for (const StudyRows& rows : StudyRows(*guided).split_by({"store", "method"})) {
    Figure figure{.id = fmt::format("ensemble-size-{}", ++number),
                  .title = {},
                  .panels = {},
                  .made_by = provenance(study)};
    std::vector<std::string> sizes;
    std::string pool;
    CsvText csv(
        {"store", "method", "shots", "curve", "size", "accuracy", "lowest", "highest", "sd"});
    for (const StudyRows& of_shots : rows.split_by({"shots"})) {
      const std::string store = of_shots.text(0, "store");
      const std::string shots = of_shots.text(0, "shots");
      const std::string method = of_shots.text(0, "method");
      const SizeCurves curves{store,    shots,
                              method,   alike(*random, store, shots, method),
                              of_shots, alike(*chosen, store, shots, method)};
      figure.panels.push_back(size_panel(curves));
      if (const auto row = row_of(curves.chosen, "guided"))
        sizes.push_back(
            joined({curves.chosen.text(*row, "size"),
                    of_shots.has("shots") ? fmt::format("({})", shots_text(shots)) : ""},
                   " "));
      if (const auto row = row_of(curves.chosen, "full")) pool = curves.chosen.text(*row, "size");
      for (std::size_t r = 0; r < curves.random.size(); ++r)
        csv.add({store, method, shots, "random", curves.random.text(r, "size"),
                 curves.random.text(r, "mean"), curves.random.text(r, "lowest"),
                 curves.random.text(r, "highest"), curves.random.text(r, "sd")});
      for (const char* split : {"val", "novel"})
        for (std::size_t r = 0; r < of_shots.size(); ++r)
          csv.add({store, method, shots, std::string("guided, ") + split, of_shots.text(r, "size"),
                   of_shots.text(r, split), "", "", ""});
    }
    figure.csv = csv.text();
    figure.title =
        sizes.empty()
            ? fmt::format("Accuracy of {} by the number of members", rows.text(0, "method"))
            : fmt::format("Guided selection stops at {}{} members of {}", listed(sizes),
                          pool.empty() ? "" : " of " + pool, rows.text(0, "method"));
    figure.note =
        "Bands: lowest to highest of the random draws, and one standard deviation. The triangle is "
        "the size that would have been best on novel itself: test leakage, not a result.";
    blocks.emplace_back(std::move(figure));
  }
  for (ReportTable& table : tables_by_store(*chosen, "ensemble-size-chosen", {"shots", "method"}))
    blocks.emplace_back(ShownTable{std::move(table), provenance(study)});
  return blocks;
}

}  // namespace deepvoro
