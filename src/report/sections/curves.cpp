#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "report/plot.hpp"
#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

// What accuracy rises by from one number of shots to another, where both were measured.
std::optional<double> rise(const std::vector<Point>& points, double from, double to) {
  const auto at = [&](double shots) { return std::ranges::find(points, shots, &Point::x); };
  if (at(from) == points.end() || at(to) == points.end()) return std::nullopt;
  return at(to)->y - at(from)->y;
}

std::string shots_sentence(const std::string& method, const std::vector<Point>& points) {
  const double fewest = points.front().x;
  const double most = points.back().x;
  if (fewest == most) return fmt::format("Accuracy of {} by the number of shots", method);
  const auto first = rise(points, 1, 5);
  const auto rest = rise(points, 5, most);
  if (!first || !rest || most <= 5)
    return fmt::format("From {:g} to {:g} shots {} gains {:.1f} points", fewest, most, method,
                       points.back().y - points.front().y);
  return fmt::format("From 1 to 5 shots {} gains {:.1f} points, from 5 to {:g} another {:.1f}",
                     method, *first, most, *rest);
}

struct Line {
  double slope = 0;
  double intercept = 0;
};

Line fitted(const std::vector<Point>& points) {
  const auto n = static_cast<double>(points.size());
  double mean_x = 0;
  double mean_y = 0;
  for (const Point& point : points) {
    mean_x += point.x / n;
    mean_y += point.y / n;
  }
  double xx = 0;
  double xy = 0;
  for (const Point& point : points) {
    xx += (point.x - mean_x) * (point.x - mean_x);
    xy += (point.x - mean_x) * (point.y - mean_y);
  }
  const double slope = xx > 0 ? xy / xx : 0;
  return {slope, mean_y - slope * mean_x};
}

// Methods are the columns behind what says which episode it is.
std::vector<std::string> method_columns(const RecordedTable& table) {
  std::vector<std::string> found;
  for (const RecordedColumn& column : table.columns)
    if (column.name != "store" && column.name != "shots" && column.name != "episode" &&
        column.name != "variance")
      found.push_back(column.name);
  return found;
}

std::vector<Point> episode_points(const StudyRows& rows, const std::string& method) {
  std::vector<Point> points;
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (const auto accuracy = rows.maybe(r, method))
      points.push_back({rows.number(r, "variance"), *accuracy});
  return points;
}

// Means of tenths of the episodes by their variance: what the eye cannot see in a cloud.
std::vector<std::pair<Point, double>> tenths(std::vector<Point> points) {
  std::ranges::sort(points, {}, &Point::x);
  constexpr std::size_t parts = 10;
  std::vector<std::pair<Point, double>> found;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t begin = points.size() * i / parts;
    const std::size_t end = points.size() * (i + 1) / parts;
    if (end < begin + 2) continue;
    const auto n = static_cast<double>(end - begin);
    Point mean;
    for (std::size_t p = begin; p < end; ++p) {
      mean.x += points[p].x / n;
      mean.y += points[p].y / n;
    }
    double variance = 0;
    for (std::size_t p = begin; p < end; ++p)
      variance += (points[p].y - mean.y) * (points[p].y - mean.y) / n;
    found.emplace_back(mean, 1.96 * std::sqrt(variance / n));
  }
  return found;
}

Drawing outlier_panel(const StudyRows& rows, const std::vector<std::string>& methods,
                      const std::string& title) {
  std::vector<double> x;
  std::vector<double> y;
  const std::vector<Point> cloud = episode_points(rows, methods.back());
  x.reserve(rows.size());
  y.reserve(cloud.size());
  for (std::size_t r = 0; r < rows.size(); ++r) x.push_back(rows.number(r, "variance"));
  for (const Point& point : cloud) y.push_back(point.y);
  // Single hopeless episodes would press everything else together.
  std::ranges::sort(y);
  std::vector<double> shown;
  if (!y.empty()) shown = {y[y.size() / 50], y.back()};
  const auto [first, last] = std::ranges::minmax(x);
  std::map<std::string, Line> lines;
  for (const std::string& method : methods) {
    const std::vector<Point> points = episode_points(rows, method);
    if (points.size() < 2) continue;
    const Line line = fitted(points);
    lines[method] = line;
    for (const double end : {first, last}) shown.push_back(line.intercept + line.slope * end);
  }
  const Axis y_axis = accuracy_axis("accuracy of an episode, %", shown);
  std::vector<std::string> names;
  names.reserve(methods.size());
  for (const std::string& method : methods) names.push_back(method + " -00.0");
  Panel panel(title, linear_axis("variance of the support set", x), y_axis,
              {.height = 320, .right = label_room(names)});
  std::vector<Point> visible;
  std::ranges::copy_if(cloud, std::back_inserter(visible), [&](const Point& point) {
    return point.y >= y_axis.low && point.y <= y_axis.high;
  });
  panel.faint_dots(visible);
  std::vector<std::pair<double, std::string>> labels;
  std::vector<Series> series;
  for (const auto& [method, line] : lines) {
    const std::vector<Point> points = episode_points(rows, method);
    const std::vector<Point> ends{{first, line.intercept + line.slope * first},
                                  {last, line.intercept + line.slope * last}};
    panel.line(ends, series_of_method(method));
    // Marks of all of them would hide each other.
    if (method == methods.front() || method == methods.back())
      for (const auto& [mean, ci95] : tenths(points))
        panel.interval_y(mean, ci95, series_of_method(method),
                         fmt::format("{}, a tenth of the episodes around variance {:.3g}: {}",
                                     method, mean.x, estimate_text(mean.y, ci95)));
    labels.emplace_back(ends.back().y, fmt::format("{} {:+.1f}", method, line.slope));
    series.push_back(series_of_method(method));
  }
  panel.end_labels(labels, series);
  return panel.drawing(title + ", accuracy by the variance of the support set");
}

}  // namespace

std::vector<Block> shots_blocks(const RecordedStudy& study) {
  const RecordedTable* table = study.table("shots");
  if (table == nullptr) return plain_blocks(study);
  std::vector<Block> blocks;
  std::size_t number = 0;
  for (const StudyRows& rows : StudyRows(*table).split_by({"store"})) {
    std::vector<double> x;
    std::vector<double> y;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      x.push_back(rows.number(r, "shots"));
      y.push_back(rows.number(r, "accuracy"));
    }
    Axis x_axis = log_axis("shots", x);
    x_axis.ticks.clear();
    std::ranges::sort(x);
    for (const double shots : x)
      if (x_axis.ticks.empty() ||
          x_axis.place(shots) - x_axis.place(x_axis.ticks.back().first) > 0.07)
        x_axis.ticks.emplace_back(shots, fmt::format("{:g}", shots));
    Panel panel(rows.text(0, "store"), x_axis, accuracy_axis("accuracy, %", y),
                {.height = 300, .right = label_room(rows.distinct("method"))});
    std::vector<std::pair<double, std::string>> labels;
    std::vector<Series> series;
    std::string title;
    for (const StudyRows& of_method : rows.split_by({"method"})) {
      const std::string method = of_method.text(0, "method");
      std::vector<Point> points;
      std::vector<Point> low;
      std::vector<Point> high;
      std::vector<std::size_t> order(of_method.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::sort(order, {}, [&](std::size_t r) { return of_method.number(r, "shots"); });
      for (const std::size_t r : order) {
        const Point point{of_method.number(r, "shots"), of_method.number(r, "accuracy")};
        const double ci95 = of_method.maybe(r, "ci95").value_or(0);
        points.push_back(point);
        low.push_back({point.x, point.y - ci95});
        high.push_back({point.x, point.y + ci95});
      }
      const Series style = series_of_method(method);
      panel.band(low, high, style);
      panel.line(points, style);
      for (std::size_t i = 0; i < points.size(); ++i)
        panel.marker(points[i], style,
                     fmt::format("{}, {}: {}", method, shots_text(fmt::format("{:g}", points[i].x)),
                                 estimate_text(points[i].y, high[i].y - points[i].y)),
                     false, 3);
      labels.emplace_back(points.back().y, method);
      series.push_back(style);
      if (title.empty()) title = shots_sentence(method, points);
    }
    panel.end_labels(labels, series);
    blocks.emplace_back(Figure{.id = fmt::format("shots-{}", ++number),
                               .title = title,
                               .panels = {panel.drawing(title)},
                               .note = "Bands are 95% intervals.",
                               .csv = rows.csv(),
                               .made_by = provenance(study)});
  }
  return blocks;
}

std::vector<Block> outlier_blocks(const RecordedStudy& study) {
  const RecordedTable* table = study.table("episodes");
  if (table == nullptr) return plain_blocks(study);
  const std::vector<std::string> methods = method_columns(*table);
  if (methods.empty()) return plain_blocks(study);
  std::vector<Block> blocks;
  std::size_t number = 0;
  for (const StudyRows& rows : StudyRows(*table).split_by({"store", "shots"})) {
    const std::string context = joined({rows.text(0, "store"), shots_text(rows.text(0, "shots"))});
    Figure figure{
        .id = fmt::format("outliers-{}", ++number),
        .title = "Accuracy of episodes by the variance of their support set",
        .panels = {outlier_panel(rows, methods, context)},
        .note = fmt::format(
            "Small dots: episodes ({0}). Marks: means of tenths of the episodes with 95% "
            "intervals, of {1} and {0}. "
            "Lines: least squares; numbers are their slopes, points per unit of variance.",
            methods.back(), methods.front()),
        .csv = rows.csv(),
        .made_by = provenance(study)};
    if (const RecordedTable* slopes = study.table("slopes")) {
      StudyRows of_slopes(*slopes);
      if (of_slopes.has("store")) of_slopes = of_slopes.where("store", rows.text(0, "store"));
      if (of_slopes.has("shots")) of_slopes = of_slopes.where("shots", rows.text(0, "shots"));
      std::vector<DifferenceRow> gains;
      std::size_t best = 0;
      for (std::size_t r = 0; r < of_slopes.size(); ++r) {
        const std::string method = of_slopes.text(r, "method");
        if (of_slopes.maybe(r, "slope").value_or(-HUGE_VAL) >
            of_slopes.maybe(best, "slope").value_or(-HUGE_VAL))
          best = r;
        if (const auto gain = of_slopes.maybe(r, "gain_slope"); gain && method != "s2m2")
          gains.push_back({.label = method,
                           .method = method,
                           .difference = *gain,
                           .ci95 = of_slopes.maybe(r, "gain_slope_ci95").value_or(0)});
      }
      if (of_slopes.size() > 0 && of_slopes.maybe(best, "slope"))
        figure.title = fmt::format(
            "{} loses least where the support set is spread out ({:+.2f} points per unit of "
            "variance)",
            of_slopes.text(best, "method"), *of_slopes.maybe(best, "slope"));
      if (!gains.empty())
        figure.panels.push_back(difference_plot(
            "does the lead over s2m2 grow with variance?", "slope of the lead, points per unit",
            gains, "Slopes of the lead over s2m2 with their intervals"));
    }
    blocks.emplace_back(std::move(figure));
  }
  if (const RecordedTable* slopes = study.table("slopes"))
    for (ReportTable& of_store : tables_by_store(*slopes, "outliers-slopes"))
      blocks.emplace_back(ShownTable{std::move(of_store), provenance(study)});
  return blocks;
}

}  // namespace deepvoro
