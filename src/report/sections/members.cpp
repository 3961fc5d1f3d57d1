#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "report/plot.hpp"
#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

// The r of a study's own table for the same store, shots and method.
std::optional<double> correlation(const RecordedStudy& study, const StudyRows& members) {
  const RecordedTable* table = study.table("correlation");
  if (table == nullptr) return std::nullopt;
  StudyRows rows(*table);
  for (const char* column : {"store", "shots", "method"})
    if (rows.has(column) && members.has(column)) rows = rows.where(column, members.text(0, column));
  return rows.size() == 1 ? rows.maybe(0, "r") : std::nullopt;
}

std::string agreement_sentence(double lowest, double highest) {
  const std::string range = highest - lowest < 0.005
                                ? fmt::format("r = {:.2f}", lowest)
                                : fmt::format("r = {:.2f} to {:.2f}", lowest, highest);
  if (lowest >= 0.7) return "Members that do well on val do well on novel: " + range;
  if (lowest >= 0.4) return "Members that do well on val tend to do well on novel: " + range;
  if (highest < 0.4) return "How a member does on val says little about novel: " + range;
  return "Val tells which members are good for some methods and shots, not for all: " + range;
}

// A member by what sets it apart, without what all members have in common.
std::string member_words(const StudyRows& members, std::size_t row) {
  const auto with = [&](const char* column, const char* sign) {
    const std::string value = members.text(row, column);
    return value.empty() ? "" : fmt::format("{} {}", sign, value);
  };
  const bool is_logarithm = members.maybe(row, "lambda").value_or(0) == 0;
  return joined({members.text(row, "view"),
                 is_logarithm ? with("b", "log, b") : with("lambda", "λ"), with("R", "R"),
                 with("beta", "β")});
}

// Ids of members are long.
void name_best_members(ReportTable& summary, const StudyRows& members) {
  const auto column = std::ranges::find(
      summary.columns, std::vector<std::string>{"best_val_member"}, &TableColumn::csv_names);
  if (column == summary.columns.end() || !members.has("view")) return;
  std::map<std::string, std::size_t> row_of;
  for (std::size_t r = 0; r < members.size(); ++r) row_of.emplace(members.text(r, "member"), r);
  for (TableRow& row : summary.rows) {
    std::string& text = row.cells[static_cast<std::size_t>(column - summary.columns.begin())].text;
    if (const auto known = row_of.find(text); known != row_of.end())
      text = member_words(members, known->second);
  }
}

Drawing scatter(const StudyRows& members, const std::string& title, std::size_t first_row) {
  std::vector<double> values;
  std::vector<Point> points;
  for (std::size_t r = 0; r < members.size(); ++r) {
    points.push_back({members.number(r, "val"), members.number(r, "novel")});
    values.push_back(points.back().x);
    values.push_back(points.back().y);
  }
  std::vector<double> of_x;
  std::vector<double> of_y;
  for (const Point& point : points) {
    of_x.push_back(point.x);
    of_y.push_back(point.y);
  }
  Panel panel(title, accuracy_axis("val accuracy, %", of_x),
              accuracy_axis("novel accuracy, %", of_y), {.height = 300});
  const Axis x = accuracy_axis("", of_x);
  const Axis y = accuracy_axis("", of_y);
  const double low = std::max(x.low, y.low);
  const double high = std::min(x.high, y.high);
  if (low < high) panel.segment({low, low}, {high, high}, "ident");
  panel.cloud(points, series_of_method(members.text(0, "method")), first_row);
  return panel.drawing(title + ", one point per member");
}

// A curve of accuracies with its intervals, where they were recorded.
struct Curve {
  std::vector<Point> points;
  std::vector<Point> low;
  std::vector<Point> high;
};

Curve accuracy_curve(const StudyRows& rows, const char* over, const std::string& split) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t r) { return rows.number(r, over); });
  Curve curve;
  for (const std::size_t r : order) {
    const Point at{rows.number(r, over), rows.number(r, split)};
    if (!(at.x > 0)) continue;
    const double ci95 = rows.maybe(r, split + "_ci95").value_or(0);
    curve.points.push_back(at);
    curve.low.push_back({at.x, at.y - ci95});
    curve.high.push_back({at.x, at.y + ci95});
  }
  return curve;
}

// Over b with the logarithm, over lambda without an offset.
std::optional<Drawing> transformation_panel(const StudyRows& rows, bool over_b) {
  const char* column = over_b ? "b" : "lambda";
  const char* sign = over_b ? "b" : "λ";
  const StudyRows shown = over_b ? rows.where("lambda", "0") : rows.where("b", "0");
  const std::map<std::string, Curve> curves{{"novel", accuracy_curve(shown, column, "novel")},
                                            {"val", accuracy_curve(shown, column, "val")}};
  if (curves.at("val").points.size() < 2) return std::nullopt;
  std::vector<double> x;
  std::vector<double> y;
  for (const auto& [split, curve] : curves)
    for (const auto* points : {&curve.low, &curve.high})
      for (const Point& point : *points) {
        x.push_back(point.x);
        y.push_back(point.y);
      }
  const std::string title =
      joined({over_b ? "log (λ = 0), over b" : "b = 0, over λ", shots_text(rows.text(0, "shots"))});
  Panel panel(title, over_b ? log_axis("b", x) : linear_axis("λ", x),
              accuracy_axis("accuracy, %", y), {.right = 52});
  std::vector<std::pair<double, std::string>> labels;
  for (const auto& [split, curve] : curves) {
    const bool is_val = split == "val";
    Series style = kOurs;
    style.dashed = is_val;
    panel.band(curve.low, curve.high, kOurs);
    panel.line(curve.points, style);
    for (std::size_t i = 0; i < curve.points.size(); ++i)
      panel.marker(
          curve.points[i], kOurs,
          fmt::format("{} {:g}: {} {}", sign, curve.points[i].x, split,
                      estimate_text(curve.points[i].y, curve.high[i].y - curve.points[i].y)),
          is_val, 3);
    labels.emplace_back(curve.points.back().y, split);
  }
  panel.end_labels(labels, {kOurs, kOurs});
  return panel.drawing(title);
}

Statement best_transformation(const StudyRows& rows) {
  std::size_t best = 0;
  for (std::size_t r = 1; r < rows.size(); ++r)
    if (rows.number(r, "val") > rows.number(best, "val")) best = r;
  const std::string lambda = rows.text(best, "lambda");
  return {lambda == "0" ? "the log with b = " + rows.text(best, "b") : "power λ = " + lambda,
          joined({"at", shots_text(rows.text(best, "shots"))}, " ")};
}

}  // namespace

std::vector<Block> member_blocks(const RecordedStudy& study) {
  const RecordedTable* table = study.table("members");
  if (table == nullptr) return plain_blocks(study);
  std::vector<Block> blocks;
  const std::vector<StudyRows> stores = StudyRows(*table).split_by({"store"});
  for (std::size_t i = 0; i < stores.size(); ++i) {
    Figure figure{.id = fmt::format("members-{}", i + 1),
                  .title = {},
                  .panels = {},
                  .csv = stores[i].csv(),
                  .made_by = provenance(study)};
    double lowest = 1;
    double highest = -1;
    std::size_t first_row = 0;
    std::string csv;
    for (const StudyRows& members : stores[i].split_by({"method", "shots"})) {
      const auto r = correlation(study, members);
      lowest = std::min(lowest, r.value_or(lowest));
      highest = std::max(highest, r.value_or(highest));
      const std::string title =
          joined({members.text(0, "method"), shots_text(members.text(0, "shots")),
                  r ? fmt::format("r = {:.2f}", *r) : ""});
      figure.panels.push_back(scatter(members, title, first_row));
      // Rows in the order of the points, so that hover finds them.
      const std::string rows = members.csv();
      csv += csv.empty() ? rows : rows.substr(rows.find('\n') + 1);
      first_row += members.size();
    }
    figure.csv = csv;
    figure.title = joined({lowest <= highest ? agreement_sentence(lowest, highest)
                                             : "Every member alone, on val and on novel",
                           stores.size() > 1 ? stores[i].text(0, "store") : ""});
    figure.note =
        "Each point is one member, a view with a transformation (and a geometry), alone: its "
        "accuracy on val, the classes on which members are chosen, and on novel, the classes that "
        "are reported. r is the correlation of the two, 1 where they agree and 0 where one says "
        "nothing about the other. Dashed: as good on novel as on val.";
    blocks.emplace_back(std::move(figure));
  }
  if (const RecordedTable* summary = study.table("summary"))
    for (ReportTable& of_store : tables_by_store(*summary, "members-summary")) {
      name_best_members(of_store, StudyRows(*table));
      blocks.emplace_back(ShownTable{std::move(of_store), provenance(study)});
    }
  return blocks;
}

std::vector<Block> transformation_blocks(const RecordedStudy& study) {
  const RecordedTable* table = study.table("transformations");
  if (table == nullptr) return {};
  std::vector<Block> blocks;
  const std::vector<StudyRows> stores = StudyRows(*table).split_by({"store"});
  for (std::size_t i = 0; i < stores.size(); ++i) {
    Figure figure{.id = fmt::format("transformations-{}", i + 1),
                  .title = {},
                  .panels = {},
                  .note =
                      "Solid: novel classes. Dashed: val, on which transformations are chosen. "
                      "Bands are 95% intervals.",
                  .csv = stores[i].csv(),
                  .made_by = provenance(study)};
    std::vector<Statement> choices;
    for (const StudyRows& rows : stores[i].split_by({"shots"})) {
      choices.push_back(best_transformation(rows));
      for (const bool over_b : {true, false})
        if (const auto drawn = transformation_panel(rows, over_b)) figure.panels.push_back(*drawn);
    }
    if (figure.panels.empty()) continue;
    figure.title = joined({"On val " + told(choices, "is best"),
                           stores.size() > 1 ? stores[i].text(0, "store") : ""});
    blocks.emplace_back(std::move(figure));
  }
  return blocks;
}

}  // namespace deepvoro
