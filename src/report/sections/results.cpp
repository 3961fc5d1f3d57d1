#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "report/paper_numbers.hpp"
#include "report/plot.hpp"
#include "report/sections/result_groups.hpp"
#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

// The comparison of a result with the best baseline of its number of shots; none with itself.
std::optional<Comparison> to_baseline(const ResultGroup& group, const ReportedResult& result) {
  const ReportedResult* baseline = group.best_baseline(result.recorded.shape.shots);
  if (baseline == nullptr || baseline == &result) return std::nullopt;
  return compare(baseline->recorded, result.recorded);
}

TableRow method_row(const ResultGroup& group, const ReportedResult& result) {
  const RecordedResult& recorded = result.recorded;
  const Estimate accuracy = estimate(recorded.episode_accuracy);
  TableRow row{.cells = {{.text = shots_text(fmt::to_string(recorded.shape.shots)),
                          .values = {static_cast<double>(recorded.shape.shots)}},
                         {.text = group.label(result)},
                         {.text = estimate_text(accuracy.mean, accuracy.ci95),
                          .values = {accuracy.mean, accuracy.ci95}},
                         {.text = "–"},
                         {.text = "–"}}};
  if (const auto comparison = to_baseline(group, result)) {
    const Estimate& difference = comparison->difference;
    row.cells[3] = {.text = estimate_text(difference.mean, difference.ci95, true),
                    .values = {difference.mean, difference.ci95}};
    if (const auto& test = comparison->t_test) {
      row.cells[4] = {.text = p_text(test->p), .values = {test->p}};
      row.cells[2].starred = test->p < kSignificant && difference.mean > 0;
    }
  }
  row.cells.push_back({.text = result.pool_size
                                   ? fmt::format("{} of {}", recorded.members, *result.pool_size)
                                   : fmt::to_string(recorded.members),
                       .values = {static_cast<double>(recorded.members)}});
  row.cells.push_back({.text = duration_text(result.seconds), .values = {result.seconds}});
  return row;
}

ReportTable method_table(const ResultGroup& group, const std::string& id) {
  constexpr std::size_t accuracy_column = 2;
  ReportTable table{.id = id,
                    .title = fmt::format("Accuracy on {}", group.title()),
                    .columns = {{.label = "shots", .csv_names = {"shots"}, .numeric = false},
                                {.label = "method", .numeric = false},
                                {"accuracy, %", {"accuracy", "ci95"}},
                                {"difference", {"difference", "difference_ci95"}},
                                {"p"},
                                {"members"},
                                {"time", {"seconds"}}}};
  std::string baselines;
  for (const std::size_t n : group.shots()) {
    const std::size_t begin = table.rows.size();
    for (const ReportedResult* result : group.results)
      if (result->recorded.shape.shots == n) table.rows.push_back(method_row(group, *result));
    table.rows[begin].starts_group = begin > 0;
    emphasise_largest(table, accuracy_column, begin, table.rows.size());
    if (const ReportedResult* best = group.best_baseline(n))
      baselines += fmt::format("{}{} at {}", baselines.empty() ? "" : ", ", group.label(*best),
                               shots_text(fmt::to_string(n)));
  }
  table.note = fmt::format(
      "± is the 95% interval over episodes. Differences are paired, on the same episodes, to the "
      "best baseline: {}. * better than it with p < 0.05 (paired t-test)",
      baselines);
  return table;
}

Figure difference_figure(const ResultGroup& group, const std::string& id) {
  Figure figure{.id = id,
                .title = {},
                .panels = {},
                .note =
                    "Dots are means, lines their 95% intervals; methods right of the line at zero "
                    "are better than the best baseline on the same episodes."};
  CsvText csv({"method", "shots", "baseline", "difference", "ci95", "p"});
  std::vector<Statement> messages;
  for (const std::size_t n : group.shots()) {
    const ReportedResult* baseline = group.best_baseline(n);
    if (baseline == nullptr) continue;
    std::vector<DifferenceRow> rows;
    for (const ReportedResult* result : group.results) {
      if (result->recorded.shape.shots != n || result == baseline) continue;
      const Comparison found = compare(baseline->recorded, result->recorded);
      const double p = found.t_test ? found.t_test->p : 1;
      const std::string label = group.label(*result);
      rows.push_back(
          {.label = label,
           .method = result->recorded.method,
           .difference = found.difference.mean,
           .ci95 = found.difference.ci95,
           .tip = fmt::format("{}: {} to {}, p {}", label,
                              estimate_text(found.difference.mean, found.difference.ci95, true),
                              group.label(*baseline), p_text(p))});
      csv.add({label, fmt::to_string(n), group.label(*baseline), exact(found.difference.mean),
               exact(found.difference.ci95), exact(p)});
    }
    if (rows.empty()) continue;
    const std::string of = shots_text(fmt::to_string(n));
    const DifferenceRow best = *std::ranges::max_element(rows, {}, &DifferenceRow::difference);
    if (best.difference > 0)
      messages.push_back(
          {best.label,
           fmt::format("{} at {}", estimate_text(best.difference, std::nullopt, true), of)});
    figure.panels.push_back(
        difference_plot(fmt::format("{}, difference to {}", of, group.label(*baseline)),
                        "difference of accuracy, points", rows,
                        fmt::format("Paired differences at {}: {} leads by {:+.2f} points", of,
                                    best.label, best.difference)));
  }
  figure.title = messages.empty() ? "No method is above the best baseline"
                                  : told(messages, "leads the best baseline by");
  figure.csv = csv.text();
  figure.made_by = group.made_by();
  return figure;
}

constexpr const char* kHowToGet =
    "not evaluated here: the pictures come with ImageNet's terms. Get them, put a folder per class "
    "into base, val and novel, then PRESET={} scripts/photographs.sh FOLDER RESULTS";

// The paper's main table beside what was measured here.
std::optional<ReportTable> paper_table(const std::vector<ResultGroup>& groups) {
  // By data set, method and shots: the best of what was measured, whatever members were chosen.
  std::map<std::string, std::map<std::string, std::map<std::size_t, Estimate>>, std::less<>> ours;
  for (const ResultGroup& group : groups) {
    const std::string dataset(dataset_of(group.store));
    if (dataset.empty() || group.split != "novel" || group.ways != 5) continue;
    for (const ReportedResult* result : group.results) {
      const Estimate accuracy = estimate(result->recorded.episode_accuracy);
      Estimate& known = ours[dataset][result->recorded.method][result->recorded.shape.shots];
      if (accuracy.mean > known.mean) known = accuracy;
    }
  }
  if (ours.empty()) return std::nullopt;
  ReportTable table{
      .id = "paper-main",
      .title = "Beside the paper's main table, 5-way",
      .columns = {{.label = "data set", .numeric = false}, {.label = "method", .numeric = false}}};
  for (const std::size_t n : {1U, 5U}) {
    table.columns.push_back({fmt::format("{} here", shots_text(fmt::to_string(n))),
                             {fmt::format("here_{}", n), fmt::format("here_ci95_{}", n)}});
    table.columns.push_back(
        {"paper", {fmt::format("paper_{}", n), fmt::format("paper_ci95_{}", n)}});
    table.columns.push_back({"difference", {fmt::format("difference_{}", n)}});
  }
  for (const std::string_view dataset : {"mini", "cub", "tiered"}) {
    const std::string title(dataset_title(dataset));
    const auto found = ours.find(dataset);
    if (found == ours.end()) {
      table.rows.push_back(
          {.cells = {{.text = title}},
           .starts_group = !table.rows.empty(),
           .note = dataset == "cub" ? "not evaluated here"
                                    : fmt::format(fmt::runtime(kHowToGet),
                                                  dataset == "mini" ? "mini-imagenet" : "tiered")});
      continue;
    }
    bool is_first = true;
    for (const auto& [method, by_shots] : found->second) {
      TableRow row{.cells = {{.text = title}, {.text = method}},
                   .starts_group = is_first && !table.rows.empty()};
      is_first = false;
      for (const std::size_t n : {1U, 5U}) {
        const auto measured = by_shots.find(n);
        // vd, power-lr and voronoi-lr stand in another of its tables.
        const PaperNumber* published = paper_number("main", dataset, method, n);
        if (published == nullptr) published = paper_number("joint", dataset, method, n);
        row.cells.push_back(
            measured == by_shots.end()
                ? TableCell{.text = "–"}
                : TableCell{.text = estimate_text(measured->second.mean, measured->second.ci95),
                            .values = {measured->second.mean, measured->second.ci95}});
        row.cells.push_back(
            published == nullptr
                ? TableCell{.text = "–"}
                : TableCell{.text = estimate_text(published->accuracy, published->ci95),
                            .values = {published->accuracy, published->ci95.value_or(NAN)},
                            .published = true});
        row.cells.push_back(
            published == nullptr || measured == by_shots.end()
                ? TableCell{.text = "–"}
                : TableCell{.text = estimate_text(measured->second.mean - published->accuracy,
                                                  std::nullopt, true),
                            .values = {measured->second.mean - published->accuracy}});
      }
      table.rows.push_back(std::move(row));
    }
  }
  table.note =
      "Features differ: the paper's networks were trained longer and seen in 64 views. Its numbers "
      "are grey";
  return table;
}

}  // namespace

std::vector<Block> method_blocks(const std::vector<ReportedResult>& results) {
  std::vector<Block> blocks;
  const std::vector<ResultGroup> groups = group_results(results);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string suffix = groups.size() > 1 ? fmt::format("-{}", g + 1) : "";
    blocks.emplace_back(
        ShownTable{method_table(groups[g], "methods" + suffix), groups[g].made_by()});
    if (groups[g].results.size() > groups[g].shots().size())
      blocks.emplace_back(difference_figure(groups[g], "differences" + suffix));
  }
  if (const auto table = paper_table(groups)) blocks.emplace_back(ShownTable{*table});
  return blocks;
}

std::string main_result(const std::vector<ReportedResult>& results) {
  std::string text;
  for (const ResultGroup& group : group_results(results)) {
    std::vector<Statement> parts;
    for (const std::size_t n : group.shots()) {
      const ReportedResult* best = group.best(n);
      const Estimate accuracy = estimate(best->recorded.episode_accuracy);
      std::string words = fmt::format("{} % at {}", estimate_text(accuracy.mean, accuracy.ci95),
                                      shots_text(fmt::to_string(n)));
      if (const auto comparison = to_baseline(group, *best))
        words += fmt::format(
            " ({} to {})",
            estimate_text(comparison->difference.mean, comparison->difference.ci95, true),
            group.label(*group.best_baseline(n)));
      parts.push_back({group.label(*best), words});
    }
    text +=
        fmt::format("{}On {}, {}.", text.empty() ? "" : " ", group.store, told(parts, "reaches"));
  }
  return text;
}

std::vector<Block> reliability_blocks(const std::vector<ReportedResult>& results) {
  ReportTable table{.id = "reliability",
                    .title = "How far probabilities and the answer 'unknown' can be trusted",
                    .columns = {{.label = "store", .numeric = false},
                                {.label = "method", .numeric = false},
                                {"shots"},
                                {"calibration error, %", {"calibration_error"}},
                                {"AUROC of unknown classes, %", {"auroc", "auroc_ci95"}}}};
  for (const ResultGroup& group : group_results(results))
    for (const ReportedResult* result : group.results) {
      if (!result->calibration_error && !result->open_set_auroc) continue;
      table.rows.push_back(
          {.cells = {{.text = group.store},
                     {.text = group.label(*result)},
                     {.text = fmt::to_string(result->recorded.shape.shots)},
                     result->calibration_error
                         ? TableCell{.text = fmt::format("{:.2f}", *result->calibration_error),
                                     .values = {*result->calibration_error}}
                         : TableCell{.text = "–"},
                     result->open_set_auroc
                         ? TableCell{.text = estimate_text(*result->open_set_auroc,
                                                           result->open_set_auroc_ci95),
                                     .values = {*result->open_set_auroc,
                                                result->open_set_auroc_ci95.value_or(NAN)}}
                         : TableCell{.text = "–"}}});
    }
  std::vector<Block> blocks;
  if (!table.rows.empty()) blocks.emplace_back(ShownTable{table});
  return blocks;
}

}  // namespace deepvoro
