#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

// The largest value of a row is bold, the second largest underlined.
void emphasise_row(TableRow& row) {
  std::vector<TableCell*> cells;
  for (TableCell& cell : row.cells)
    if (cell.values.size() > 1) cells.push_back(&cell);
  std::ranges::stable_sort(cells, std::greater{},
                           [](const TableCell* cell) { return cell->values.front(); });
  if (cells.size() < 2) return;
  cells[0]->emphasis = Emphasis::best;
  cells[1]->emphasis = Emphasis::second;
}

}  // namespace

bool beats_baselines(const StudyRows& rows, std::size_t row) {
  const auto p = rows.maybe(row, "p_vs_best_baseline");
  if (!p || *p >= kSignificant) return false;
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (!rows.maybe(r, "p_vs_best_baseline") &&
        rows.number(r, "accuracy") >= rows.number(row, "accuracy"))
      return false;
  return true;
}

ReportTable overview_table(const StudyRows& rows, const std::string& id, const std::string& title) {
  ReportTable table{.id = id,
                    .title = title,
                    .columns = {{.label = "shots", .csv_names = {"shots"}, .numeric = false},
                                {.label = "store", .numeric = false}}};
  const std::vector<std::string> methods = rows.distinct("method");
  for (const std::string& method : methods)
    table.columns.push_back({method, {method, method + "_ci95"}});
  for (const StudyRows& of_shots : rows.split_by({"shots"})) {
    bool is_first = true;
    for (const StudyRows& of_store : of_shots.split_by({"store"})) {
      const std::string shots = of_store.text(0, "shots");
      TableRow row{
          .cells = {{.text = shots_text(shots), .values = {of_store.maybe(0, "shots").value_or(0)}},
                    {.text = of_store.text(0, "store")}},
          .starts_group = is_first && !table.rows.empty()};
      is_first = false;
      for (const std::string& method : methods) {
        std::size_t r = 0;
        while (r < of_store.size() && of_store.text(r, "method") != method) ++r;
        if (r == of_store.size()) {
          row.cells.push_back({.text = "–"});
          continue;
        }
        const double accuracy = of_store.number(r, "accuracy");
        const auto ci95 = of_store.maybe(r, "ci95");
        row.cells.push_back({.text = estimate_text(accuracy, ci95),
                             .values = {accuracy, ci95.value_or(NAN)},
                             .starred = beats_baselines(of_store, r)});
      }
      emphasise_row(row);
      table.rows.push_back(std::move(row));
    }
  }
  table.note =
      "Accuracy in %, on the same episodes for all methods of a row. * above the better of "
      "dc "
      "and s2m2_r with p < 0.05 (paired t-test)";
  return table;
}

}  // namespace deepvoro
