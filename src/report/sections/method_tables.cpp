#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "report/paper_numbers.hpp"
#include "report/plot.hpp"
#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

// What the paper says of a row of a study, at a number of shots.
using Published = std::function<const PaperNumber*(const StudyRows& rows, std::size_t row)>;
using RowLabel = std::function<std::string(const StudyRows& rows, std::size_t row)>;

std::size_t shots_of(const StudyRows& rows, std::size_t row) {
  return as_count(rows.maybe(row, "shots").value_or(0));
}

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

std::string best_sentence(const StudyRows& rows, const RowLabel& label_of) {
  std::vector<Statement> parts;
  for (const StudyRows& of_shots : rows.split_by({"shots"})) {
    std::size_t best = 0;
    for (std::size_t r = 1; r < of_shots.size(); ++r)
      if (of_shots.number(r, "accuracy") > of_shots.number(best, "accuracy")) best = r;
    const std::string shots = shots_text(of_shots.text(best, "shots"));
    parts.push_back(
        {label_of(of_shots, best),
         joined({fmt::format("{:.2f} %", of_shots.number(best, "accuracy")), shots}, " at ")});
  }
  return told(parts, "is best with");
}

// So that panels of one number of shots have one axis.
std::vector<double> accuracies_at(const StudyRows& rows, const std::string& shots) {
  const StudyRows of_shots = rows.has("shots") ? rows.where("shots", shots) : rows;
  std::vector<double> found;
  for (std::size_t r = 0; r < of_shots.size(); ++r) found.push_back(of_shots.number(r, "accuracy"));
  return found;
}

// A table and a dot plot of every store of a study's table.
std::vector<Block> compared_blocks(const RecordedStudy& study, const RecordedTable& table,
                                   const std::string& what, const RowLabel& label_of,
                                   const Published& published_of,
                                   const RowLabel& panel_label_of = {}) {
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
    // Where a row is more than a method, methods have panels of their own.
    for (const StudyRows& of_panel :
         panel_label_of ? rows.split_by({"method", "shots"}) : rows.split_by({"shots"})) {
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
      figure.panels.push_back(dot_plot(context, shown, fmt::format("{}, {}", figure.title, context),
                                       accuracies_at(rows, of_panel.text(0, "shots"))));
    }
    figure.note =
        has_paper ? "Blue dots: measured here. Grey diamonds: the paper. Lines are 95% intervals."
                  : "Lines are 95% intervals.";
    blocks.emplace_back(std::move(figure));
  }
  return blocks;
}

std::string method_label(const StudyRows& rows, std::size_t row) {
  return rows.text(row, "method");
}

bool varies(const StudyRows& rows, std::size_t row, std::string_view column) {
  return rows.maybe(row, column).value_or(1) > 1;
}

std::string counted(const StudyRows& rows, std::size_t row, std::string_view column,
                    const char* what) {
  return varies(rows, row, column) ? fmt::format("{} {}", rows.text(row, column), what) : "";
}

// What makes the members of a row differ, and which of them take part.
std::string level_words(const StudyRows& rows, std::size_t row) {
  const std::string levels =
      joined({counted(rows, row, "features", "views"), counted(rows, row, "transformations", "tr."),
              counted(rows, row, "geometries", "geo.")},
             " × ");
  const std::string scheme = rows.text(row, "scheme");
  return joined({scheme == "none" || scheme == "full" ? "" : scheme,
                 levels.empty() ? "one member" : levels, rows.flag(row, "averaged") ? "mean" : ""});
}

// The same where its method is known: all levels need no words.
std::string short_level_words(const StudyRows& rows, std::size_t row) {
  const bool is_single = rows.flag(row, "averaged");
  const bool is_whole = varies(rows, row, "features") &&
                        (varies(rows, row, "transformations") || varies(rows, row, "geometries"));
  if (is_single || !is_whole) return level_words(rows, row);
  const std::string scheme = rows.text(row, "scheme");
  return scheme == "full" ? "all members" : scheme;
}

std::string levels_label(const StudyRows& rows, std::size_t row) {
  return joined({rows.text(row, "method"), level_words(rows, row)});
}

// The row of no_dist and with_dist with the same scheme and levels.
std::string paper_scheme(const StudyRows& rows, std::size_t row) {
  std::string scheme = rows.text(row, "scheme");
  if (scheme == "random" || scheme == "guided") return scheme;
  const bool views = varies(rows, row, "features");
  const bool others = varies(rows, row, "transformations") || varies(rows, row, "geometries");
  if (views && others) return "full";
  if (views) return "views";
  if (!others) return "none";
  return varies(rows, row, "geometries") ? "geometries" : "transformations";
}

const PaperNumber* published_scheme(const StudyRows& rows, std::size_t row) {
  const std::string method = rows.text(row, "method");
  const char* table = method == "deepvoro" ? "no_dist" : method == "deepvoro++" ? "with_dist" : "";
  if (rows.text(row, "scheme") == "oracle" || rows.text(row, "scheme") == "greedy") return nullptr;
  return paper_number(table, dataset_of(rows.text(row, "store")), paper_scheme(rows, row),
                      shots_of(rows, row));
}

const PaperNumber* published_ablation(const StudyRows& rows, std::size_t row) {
  const std::string method = rows.text(row, "method");
  std::string key = method;
  if (method != "deepvoro--") {
    const std::string levels = paper_scheme(rows, row);
    key += " " + std::string(rows.flag(row, "averaged") || levels == "none" ? "average"
                             : levels == "full"                             ? "guided"
                                                                            : levels);
  }
  return paper_number("ablation_all", dataset_of(rows.text(row, "store")), key,
                      shots_of(rows, row));
}

// The column of the paper's table that a store's name speaks of.
std::string paper_column(const std::string& study, const std::string& store) {
  const auto has = [&](std::string_view word) { return store.find(word) != std::string::npos; };
  if (study == "cross-domain") {
    if (has("cub-to-mini")) return "cub to mini";
    return has("mini-to-cub") ? "mini to cub" : "";
  }
  if (dataset_of(store) != "mini") return "";
  if (study == "procedures") {
    if (has("rotation")) return "rotation";
    return has("mixup") ? "mixup" : "";
  }
  struct Network {
    const char* word;
    const char* column;
  };
  for (const auto& [word, column] : {Network{"softmax", "wrn-28-10 softmax"},
                                     {"wrn", "wrn-28-10 mixup"},
                                     {"densenet121", "densenet-121"},
                                     {"resnet34", "resnet-34"},
                                     {"resnet18", "resnet-18"},
                                     {"resnet10", "resnet-10"},
                                     {"mobilenet", "mobilenet"},
                                     {"conv4", "conv-4"}})
    if (has(word)) return column;
  return "";
}

}  // namespace

std::vector<Block> joint_blocks(const RecordedStudy& study) {
  std::vector<Block> blocks;
  const auto add = [&](const char* name, const char* what) {
    const RecordedTable* table = study.table(name);
    if (table == nullptr) return;
    std::vector<Block> found = compared_blocks(
        study, *table, what, method_label, [](const StudyRows& rows, std::size_t row) {
          return paper_number("joint", dataset_of(rows.text(row, "store")),
                              rows.text(row, "method"), shots_of(rows, row));
        });
    std::ranges::move(found, std::back_inserter(blocks));
  };
  add("joint", "Prototypes and logistic regression, alone and together");
  add("release", "The same, trained as the authors' release does");
  return blocks.empty() ? plain_blocks(study) : blocks;
}

std::vector<Block> ablation_blocks(const RecordedStudy& study) {
  std::vector<Block> blocks;
  const auto add = [&](const char* name, const char* what, const Published& published) {
    const RecordedTable* table = study.table(name);
    if (table == nullptr) return;
    std::vector<Block> found =
        compared_blocks(study, *table, what, levels_label, published, short_level_words);
    std::ranges::move(found, std::back_inserter(blocks));
  };
  add("ablation_all", "What views, transformations and geometries bring", published_ablation);
  add("schemes", "Which members take part", published_scheme);
  return blocks.empty() ? plain_blocks(study) : blocks;
}

std::string main_finding(const std::vector<RecordedStudy>& studies) {
  std::string text;
  for (const RecordedStudy& study : studies) {
    const RecordedTable* table = study.name == "backbones" ? study.table("table") : nullptr;
    if (table == nullptr) continue;
    for (const StudyRows& rows : StudyRows(*table).split_by({"store"}))
      text += fmt::format("{}On {}, {}.", text.empty() ? "" : " ", rows.text(0, "store"),
                          best_sentence(rows, method_label));
  }
  return text;
}

std::vector<Block> setting_blocks(const RecordedStudy& study) {
  const RecordedTable* table = study.table("table");
  if (table == nullptr) return plain_blocks(study);
  const char* what = study.name == "backbones"    ? "Other networks"
                     : study.name == "procedures" ? "Other training procedures"
                                                  : "Other domains";
  const char* paper_table = study.name == "backbones"    ? "backbone"
                            : study.name == "procedures" ? "precursor"
                                                         : "cross";
  std::vector<Block> blocks = compared_blocks(
      study, *table, what, method_label,
      [&study, paper_table](const StudyRows& rows, std::size_t row) {
        return paper_number(paper_table, paper_column(study.name, rows.text(row, "store")),
                            rows.text(row, "method"), shots_of(rows, row));
      });
  const StudyRows all(*table);
  if (all.distinct("store").size() > 1)
    blocks.insert(blocks.begin(),
                  ShownTable{overview_table(all, study.name, fmt::format("{}, side by side", what)),
                             provenance(study)});
  return blocks;
}

}  // namespace deepvoro
