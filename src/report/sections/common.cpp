#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "report/plot.hpp"
#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

constexpr double kRowHeight = 25;
constexpr std::size_t kLabelCharacters = 24;

template <class Row>
PanelLayout row_layout(const std::vector<Row>& rows) {
  double widest = 30;
  for (const Row& row : rows)
    widest = std::max(widest, text_width(shortened(row.label, kLabelCharacters)));
  return {.width = 360,
          .height = 74 + kRowHeight * static_cast<double>(rows.size()),
          .left = widest + 14,
          .right = 14,
          .top = 26,
          .bottom = 44};
}

}  // namespace

Provenance provenance(const RecordedStudy& study) {
  Provenance made_by{
      .command = study.command, .settings = study.settings, .hashes = {}, .program = {}};
  for (const RecordedStore& store : study.stores)
    made_by.hashes.push_back(
        store.sha256.empty() ? store.name
                             : fmt::format("{} sha256 {}", store.name, store.sha256.substr(0, 12)));
  if (!study.version.empty())
    made_by.program = fmt::format("deepvoro {} ({})", study.version, study.commit.substr(0, 12));
  return made_by;
}

std::string shots_text(const std::string& shots) {
  if (shots.empty()) return "";
  return shots + (shots == "1" ? " shot" : " shots");
}

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::vector<std::string> present;
  std::ranges::copy_if(parts, std::back_inserter(present),
                       [](const std::string& part) { return !part.empty(); });
  return fmt::format("{}", fmt::join(present, separator));
}

std::string listed(const std::vector<std::string>& words) {
  if (words.size() < 2) return joined(words);
  const std::vector<std::string> first(words.begin(), words.end() - 1);
  return joined(first) + " and " + words.back();
}

std::string told(const std::vector<Statement>& statements, const std::string& verb) {
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < statements.size();) {
    std::vector<std::string> words;
    const std::string& subject = statements[i].subject;
    for (; i < statements.size() && statements[i].subject == subject; ++i)
      words.push_back(statements[i].words);
    sentences.push_back(joined({subject, verb, listed(words)}, " "));
  }
  return joined(sentences, "; ");
}

std::string class_label(const std::string& name, std::size_t most_characters) {
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const bool is_numbered = digits > 0 && digits + 1 < name.size() && name[digits] == '.';
  std::string words = is_numbered ? name.substr(digits + 1) : name;
  std::ranges::replace(words, '_', ' ');
  return shortened(words, most_characters);
}

std::size_t as_count(double value) {
  return value > 0 && value < 1e15 ? static_cast<std::size_t>(std::llround(value)) : 0;
}

namespace {

// Half an interval stands beside what it belongs to.
bool is_interval_of(const RecordedColumn& interval, const RecordedColumn& column) {
  return interval.name == "ci95" || interval.name == column.name + "_ci95";
}

std::string number_text(double number, const RecordedColumn& column) {
  const bool is_whole = number == std::round(number) && std::abs(number) < 1e9;
  if (column.unit == "%") return fmt::format("{:.2f}", number);
  return is_whole ? fmt::format("{:.0f}", number) : fmt::format("{:.4g}", number);
}

TableCell plain_cell(const StudyRows& rows, std::size_t row, const RecordedColumn& column,
                     const RecordedColumn* interval) {
  const auto number = rows.maybe(row, column.name);
  if (!number) {
    const std::string text = rows.text(row, column.name);
    return {.text = text.empty() ? "–" : text};
  }
  TableCell cell{.text = number_text(*number, column), .values = {*number}};
  const auto half = interval != nullptr ? rows.maybe(row, interval->name) : std::nullopt;
  if (half) {
    cell.text += " ± " + number_text(*half, *interval);
    cell.values.push_back(*half);
  }
  return cell;
}

}  // namespace

ReportTable plain_table(const StudyRows& rows, const std::string& id) {
  const RecordedTable& table = rows.table();
  // One store stands in the title instead.
  const std::vector<std::string> stores = rows.distinct("store");
  const std::string only_store = stores.size() == 1 ? stores.front() : "";
  ReportTable shown{.id = id,
                    .title = joined({table.title.empty() ? table.name : table.title, only_store}),
                    .columns = {}};
  shown.rows.resize(rows.size());
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const RecordedColumn& column = table.columns[c];
    if (column.name == "store" && !only_store.empty()) continue;
    const bool has_interval =
        c + 1 < table.columns.size() && is_interval_of(table.columns[c + 1], column);
    const RecordedColumn* interval = has_interval ? &table.columns[++c] : nullptr;
    bool has_number = false;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      has_number |= rows.maybe(r, column.name).has_value();
      shown.rows[r].cells.push_back(plain_cell(rows, r, column, interval));
    }
    shown.columns.push_back({.label = column.unit.empty()
                                          ? column.label
                                          : fmt::format("{}, {}", column.label, column.unit),
                             .csv_names = {column.name},
                             .numeric = has_number});
    if (interval != nullptr) shown.columns.back().csv_names.push_back(interval->name);
  }
  return shown;
}

std::vector<ReportTable> tables_by_store(const RecordedTable& table, const std::string& id,
                                         const std::vector<std::string_view>& grouped_by) {
  std::vector<ReportTable> tables;
  const std::vector<StudyRows> stores = StudyRows(table).split_by({"store"});
  for (const StudyRows& rows : stores) {
    tables.push_back(
        plain_table(rows, stores.size() == 1 ? id : fmt::format("{}-{}", id, tables.size() + 1)));
    for (std::size_t r = 1; r < rows.size(); ++r)
      tables.back().rows[r].starts_group =
          std::ranges::any_of(grouped_by, [&](std::string_view column) {
            return rows.text(r, column) != rows.text(r - 1, column);
          });
  }
  return tables;
}

std::vector<Block> plain_blocks(const RecordedStudy& study) {
  std::vector<Block> blocks;
  for (const RecordedTable& table : study.tables)
    blocks.emplace_back(ShownTable{plain_table(StudyRows(table), study.name + "-" + table.name),
                                   provenance(study)});
  return blocks;
}

Drawing dot_plot(const std::string& title, const std::vector<ComparedRow>& rows,
                 const std::string& alt, const std::vector<double>& also) {
  std::vector<double> values = also;
  for (const ComparedRow& row : rows) {
    values.push_back(row.accuracy - row.ci95);
    values.push_back(row.accuracy + row.ci95);
    if (row.published) values.push_back(*row.published - row.published_ci95.value_or(0));
    if (row.published) values.push_back(*row.published + row.published_ci95.value_or(0));
  }
  const auto count = static_cast<double>(rows.size());
  Panel panel(title, accuracy_axis("accuracy, %", values), bare_axis(0, count), row_layout(rows));
  for (const auto& tick : accuracy_axis("", values).ticks)
    panel.segment({tick.first, 0}, {tick.first, count}, "gr");
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const ComparedRow& row = rows[r];
    const double at = count - 0.5 - static_cast<double>(r);
    panel.row_label(at, shortened(row.label, kLabelCharacters));
    if (row.published)
      panel.interval_x({*row.published, at - 0.17}, row.published_ci95.value_or(0), kPaper,
                       fmt::format("{}, the paper: {}", row.label,
                                   estimate_text(*row.published, row.published_ci95)));
    panel.interval_x({row.accuracy, row.published ? at + 0.17 : at}, row.ci95, kOurs,
                     fmt::format("{}, here: {}", row.label, estimate_text(row.accuracy, row.ci95)));
  }
  return panel.drawing(alt);
}

Drawing difference_plot(const std::string& title, const std::string& axis,
                        const std::vector<DifferenceRow>& rows, const std::string& alt) {
  std::vector<double> values{0};
  for (const DifferenceRow& row : rows) {
    values.push_back(row.difference - row.ci95);
    values.push_back(row.difference + row.ci95);
  }
  const auto count = static_cast<double>(rows.size());
  const Axis x = linear_axis(axis, values);
  Panel panel(title, x, bare_axis(0, count), row_layout(rows));
  for (const auto& tick : x.ticks) panel.segment({tick.first, 0}, {tick.first, count}, "gr");
  panel.segment({0, 0}, {0, count}, "zero");
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const DifferenceRow& row = rows[r];
    const double at = count - 0.5 - static_cast<double>(r);
    panel.row_label(at, shortened(row.label, kLabelCharacters));
    panel.interval_x({row.difference, at}, row.ci95, series_of_method(row.method),
                     row.tip.empty() ? fmt::format("{}: {}", row.label,
                                                   estimate_text(row.difference, row.ci95, true))
                                     : row.tip);
  }
  return panel.drawing(alt);
}

}  // namespace deepvoro
