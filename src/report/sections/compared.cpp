#include "report/sections/compared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace deepvoro {
namespace {

// A paper-style table of one store: a row per label, a group of columns per number of shots.
ReportTable compared_table(const StudyRows& rows, const std::string& id, const std::string& title,
                           const RowLabel& label_of, const Published& published_of) {
  ReportTable table{.id = id, .title = title, .columns = {{.label = "method", .numeric = false}}};
  const std::vector<StudyRows> by_shots = rows.split_by({"shots"});
  bool has_paper = false;
  for (std::size_t r = 0; r < rows.size(); ++r) has_paper |= published_of(rows, r) != nullptr;
  const std::size_t width = has_paper ? 3 : 1;
  std::vector<std::string> labels;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::string label = label_of(rows, r);
    if (std::ranges::find(labels, label) == labels.end()) labels.push_back(label);
  }
  for (const std::string& label : labels) {
    table.rows.push_back({.cells = {{.text = label}}});
    table.rows.back().cells.resize(1 + width * by_shots.size(), {.text = "–"});
  }
  bool has_star = false;
  for (std::size_t s = 0; s < by_shots.size(); ++s) {
    const StudyRows& of_shots = by_shots[s];
    const std::string n = of_shots.text(0, "shots");
    table.columns.push_back({shots_text(n) + ", %", {"accuracy_" + n, "ci95_" + n}});
    if (has_paper) {
      table.columns.push_back({"paper", {"paper_" + n, "paper_ci95_" + n}});
      table.columns.push_back({"difference", {"difference_" + n}});
    }
    for (std::size_t r = 0; r < of_shots.size(); ++r) {
      const auto at = static_cast<std::size_t>(std::ranges::find(labels, label_of(of_shots, r)) -
                                               labels.begin());
      std::vector<TableCell>& cells = table.rows[at].cells;
      const double accuracy = of_shots.number(r, "accuracy");
      const auto ci95 = of_shots.maybe(r, "ci95");
      cells[1 + width * s] = {.text = estimate_text(accuracy, ci95),
                              .values = {accuracy, ci95.value_or(NAN)},
                              .starred = beats_baselines(of_shots, r)};
      has_star |= cells[1 + width * s].starred;
      const PaperNumber* published = published_of(of_shots, r);
      if (published == nullptr) continue;
      cells[2 + width * s] = {.text = estimate_text(published->accuracy, published->ci95),
                              .values = {published->accuracy, published->ci95.value_or(NAN)},
                              .published = true};
      cells[3 + width * s] = {
          .text = estimate_text(accuracy - published->accuracy, std::nullopt, true),
          .values = {accuracy - published->accuracy}};
    }
  }
  for (std::size_t s = 0; s < by_shots.size(); ++s)
    emphasise_largest(table, 1 + width * s, 0, table.rows.size());
  if (has_star) table.note = "* better than the best baseline with p < 0.05 (paired t-test)";
  return table;
}

// So that panels of one number of shots have one axis.
std::vector<double> accuracies_at(const StudyRows& rows, const std::string& shots) {
  const StudyRows of_shots = rows.has("shots") ? rows.where("shots", shots) : rows;
  std::vector<double> found;
  for (std::size_t r = 0; r < of_shots.size(); ++r) found.push_back(of_shots.number(r, "accuracy"));
  return found;
}

}  // namespace

std::size_t shots_of(const StudyRows& rows, std::size_t row) {
  return as_count(rows.maybe(row, "shots").value_or(0));
}

std::string method_label(const StudyRows& rows, std::size_t row) {
  return rows.text(row, "method");
}

std::string best_sentence(const StudyRows& rows, const RowLabel& label_of) {
  std::vector<Statement> parts;
  for (const StudyRows& of_shots : rows.split_by({"shots"})) {
    std::size_t best = 0;
    for (std::size_t r = 1; r < of_shots.size(); ++r)
      if (of_shots.number(r, "accuracy") > of_shots.number(best, "accuracy")) best = r;
    const std::string shots = shots_text(of_shots.text(best, "shots"));
    parts.push_back(
        {label_of(of_shots, best),
         joined(
             {estimate_text(of_shots.number(best, "accuracy"), of_shots.maybe(best, "ci95")) + " %",
              shots},
             " at ")});
  }
  return told(parts, "is best with");
}

std::vector<Block> compared_blocks(const RecordedStudy& study, const RecordedTable& table,
                                   const std::string& what, const RowLabel& label_of,
                                   const Published& published_of, const RowLabel& panel_label_of) {
  std::vector<Block> blocks;
  const std::vector<StudyRows> stores = StudyRows(table).split_by({"store"});
  for (std::size_t i = 0; i < stores.size(); ++i) {
    const StudyRows& rows = stores[i];
    const std::string store = rows.text(0, "store");
    const std::string id = fmt::format("{}-{}{}", study.name, table.name,
                                       stores.size() > 1 ? fmt::format("-{}", i + 1) : "");
    blocks.emplace_back(
        ShownTable{compared_table(rows, id, joined({what, store}), label_of, published_of),
                   provenance(study)});
    Figure figure{.id = id + "-figure",
                  .title = best_sentence(rows, label_of),
                  .panels = {},
                  .csv = rows.csv(),
                  .made_by = provenance(study)};
    bool has_paper = false;
    // Where a row is more than a method, methods have panels of their own, one line of them each.
    const std::vector<StudyRows> lines =
        panel_label_of ? rows.split_by({"method"}) : std::vector<StudyRows>{rows};
    for (const StudyRows& of_line : lines)
      for (const StudyRows& of_panel : of_line.split_by({"shots"})) {
        std::vector<ComparedRow> shown;
        for (std::size_t r = 0; r < of_panel.size(); ++r) {
          const PaperNumber* published = published_of(of_panel, r);
          has_paper |= published != nullptr;
          shown.push_back(
              {.label = panel_label_of ? panel_label_of(of_panel, r) : label_of(of_panel, r),
               .accuracy = of_panel.number(r, "accuracy"),
               .ci95 = of_panel.maybe(r, "ci95").value_or(0),
               .published = published ? std::optional(published->accuracy) : std::nullopt,
               .published_ci95 = published ? published->ci95 : std::nullopt});
        }
        const std::string context = joined({panel_label_of ? of_panel.text(0, "method") : store,
                                            shots_text(of_panel.text(0, "shots"))});
        figure.panels.push_back(dot_plot(context, shown,
                                         fmt::format("{}, {}", figure.title, context),
                                         accuracies_at(rows, of_panel.text(0, "shots"))));
      }
    figure.note =
        has_paper ? "Blue dots: measured here. Grey diamonds: the paper. Lines are 95% intervals."
                  : "Lines are 95% intervals.";
    blocks.emplace_back(std::move(figure));
  }
  return blocks;
}

}  // namespace deepvoro
