#include "report/recorded_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/text.hpp"
#include "deepvoro/core/error.hpp"
#include "features/json_fields.hpp"
#include "report/table.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;

// What names something in a document and in the ids of its parts.
std::string checked_name(const JsonFields& fields, const char* key) {
  std::string text = fields.text(key);
  const bool is_plain = !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '+';
  });
  if (!is_plain) fields.fail(key, "must be letters, digits, '_', '-' and '+', at most 64");
  return text;
}

std::string optional_text(const JsonFields& fields, const char* key) {
  return fields.has(key) ? as_text_line(fields.text(key)) : "";
}

RecordedValue value_of(const json& cell, const std::string& where) {
  if (cell.is_null()) return {};
  if (cell.is_boolean()) return cell.get<bool>();
  if (cell.is_string()) return as_text_line(cell.get<std::string>());
  if (!cell.is_number()) throw data_error(where + " is no number, text, true, false or null");
  const double number = cell.get<double>();
  // Nothing that is measured is as large, and sums of squares of it would not be finite.
  constexpr double largest = 1e15;
  if (!(std::abs(number) <= largest)) throw data_error(where + " is a number beyond 1e15");
  return number;
}

std::vector<RecordedColumn> columns_of(const JsonFields& fields, const std::string& where) {
  std::vector<RecordedColumn> columns;
  std::set<std::string> names;
  for (const json& object : fields.list("columns")) {
    const JsonFields column(object, fmt::format("{}: column {}", where, columns.size()));
    columns.push_back(
        {.name = checked_name(column, "name"),
         .label = column.has("label") ? as_text_line(column.text("label")) : column.text("name"),
         .unit = optional_text(column, "unit")});
    if (!names.insert(columns.back().name).second)
      column.fail("name", fmt::format("{} is the name of two columns", columns.back().name));
  }
  return columns;
}

RecordedTable table_of(const json& object, const std::string& where) {
  const JsonFields fields(object, where);
  RecordedTable table{.where = where,
                      .name = checked_name(fields, "name"),
                      .title = optional_text(fields, "title"),
                      .columns = columns_of(fields, where),
                      .rows = {}};
  const auto rows = object.find("rows");
  if (rows == object.end() || !rows->is_array()) fields.fail("rows", "is missing or not a list");
  for (const json& row : *rows) {
    const std::string at = fmt::format("{}: row {}", where, table.rows.size());
    if (!row.is_array() || row.size() != table.columns.size())
      throw data_error(fmt::format("{} is not a list of {} values", at, table.columns.size()));
    std::vector<RecordedValue> values;
    for (const json& cell : row)
      values.push_back(
          value_of(cell, fmt::format("{}, column {},", at, table.columns[values.size()].name)));
    table.rows.push_back(std::move(values));
  }
  return table;
}

// The settings that say which episodes these are; all others stand in the command.
std::string settings_text(const json& document) {
  const auto settings = document.find("settings");
  if (settings == document.end() || !settings->is_object()) return "";
  std::string text;
  const auto add = [&](const char* key, const char* format) {
    const auto found = settings->find(key);
    if (found == settings->end() || !(found->is_number() || found->is_string())) return;
    const std::string value =
        as_text_line(found->is_string() ? found->get<std::string>() : found->dump());
    text += (text.empty() ? "" : ", ") + fmt::format(fmt::runtime(format), value);
  };
  add("ways", "{}-way");
  add("queries", "{} queries per class");
  add("episodes", "{} episodes");
  add("seed", "seed {}");
  add("protocol", "protocol {}");
  return text;
}

}  // namespace

StudyRows::StudyRows(const RecordedTable& table) : table_(&table), rows_(table.rows.size()) {
  std::iota(rows_.begin(), rows_.end(), std::size_t{0});
}

StudyRows::StudyRows(const RecordedTable& table, std::vector<std::size_t> rows)
    : table_(&table), rows_(std::move(rows)) {}

std::optional<std::size_t> StudyRows::place(std::string_view column) const {
  const auto found = std::ranges::find(table_->columns, column, &RecordedColumn::name);
  if (found == table_->columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - table_->columns.begin());
}

bool StudyRows::has(std::string_view column) const {
  return place(column).has_value();
}

const RecordedValue& StudyRows::value(std::size_t row, std::string_view column) const {
  static const RecordedValue nothing;
  const auto at = place(column);
  return at ? table_->rows[rows_[row]][*at] : nothing;
}

std::string StudyRows::text(std::size_t row, std::string_view column) const {
  const RecordedValue& found = value(row, column);
  if (const auto* text = std::get_if<std::string>(&found)) return *text;
  if (const auto* number = std::get_if<double>(&found)) return exact(*number);
  if (const auto* flag = std::get_if<bool>(&found)) return *flag ? "true" : "false";
  return "";
}

std::optional<double> StudyRows::maybe(std::size_t row, std::string_view column) const {
  const auto* number = std::get_if<double>(&value(row, column));
  if (number == nullptr || !std::isfinite(*number)) return std::nullopt;
  return *number;
}

double StudyRows::number(std::size_t row, std::string_view column) const {
  const auto found = maybe(row, column);
  if (!found)
    throw data_error(fmt::format("{}: row {} has no number in the column {}", table_->where,
                                 rows_[row], column));
  return *found;
}

bool StudyRows::flag(std::size_t row, std::string_view column) const {
  const auto* flag = std::get_if<bool>(&value(row, column));
  return flag != nullptr && *flag;
}

std::vector<std::string> StudyRows::distinct(std::string_view column) const {
  std::vector<std::string> found;
  std::set<std::string> seen;
  for (std::size_t r = 0; r < size(); ++r)
    if (seen.insert(text(r, column)).second) found.push_back(text(r, column));
  return found;
}

StudyRows StudyRows::where(std::string_view column, std::string_view wanted) const {
  return where(column, std::set{std::string(wanted)});
}

StudyRows StudyRows::where(std::string_view column, const std::set<std::string>& texts) const {
  std::vector<std::size_t> kept;
  for (std::size_t r = 0; r < size(); ++r)
    if (texts.contains(text(r, column))) kept.push_back(rows_[r]);
  return {*table_, std::move(kept)};
}

std::vector<StudyRows> StudyRows::split_by(std::initializer_list<std::string_view> columns) const {
  std::map<std::vector<std::string>, std::size_t> groups;
  std::vector<StudyRows> found;
  for (std::size_t r = 0; r < size(); ++r) {
    std::vector<std::string> key;
    for (const std::string_view column : columns) key.push_back(text(r, column));
    const auto [group, is_new] = groups.emplace(std::move(key), found.size());
    if (is_new) found.push_back(StudyRows(*table_, {}));
    found[group->second].rows_.push_back(rows_[r]);
  }
  return found;
}

std::string StudyRows::csv() const {
  std::vector<std::string> fields;
  for (const RecordedColumn& column : table_->columns) fields.push_back(column.name);
  CsvText csv(fields);
  for (std::size_t r = 0; r < size(); ++r) {
    fields.clear();
    for (const RecordedColumn& column : table_->columns) {
      const auto number = maybe(r, column.name);
      fields.push_back(number ? fmt::format("{:.7g}", *number) : text(r, column.name));
    }
    csv.add(fields);
  }
  return csv.text();
}

const RecordedTable* RecordedStudy::table(std::string_view wanted) const {
  const auto found = std::ranges::find(tables, wanted, &RecordedTable::name);
  return found == tables.end() ? nullptr : &*found;
}

RecordedStudy parse_study(const json& document, const std::string& file) {
  const JsonFields fields(document, file);
  if (fields.text("format") != "deepvoro-study")
    fields.fail("format", "must be \"deepvoro-study\", as 'deepvoro study' writes it");
  if (fields.whole("version", 0) != 1)
    fields.fail("version", "must be 1, the only one this program reads");
  RecordedStudy study{.file = file,
                      .name = checked_name(fields, "study"),
                      .title = optional_text(fields, "title"),
                      .command = optional_text(fields, "command"),
                      .version = {},
                      .commit = {},
                      .settings = settings_text(document),
                      .stores = {},
                      .tables = {}};
  if (fields.has("program")) {
    const JsonFields program = fields.object("program");
    study.version = optional_text(program, "version");
    study.commit = optional_text(program, "commit");
  }
  for (const json& object : fields.list("stores")) {
    const JsonFields store(object, fmt::format("{}: store {}", file, study.stores.size()));
    study.stores.push_back({as_text_line(store.text("name")), optional_text(store, "sha256")});
  }
  for (const json& object : fields.list("tables"))
    study.tables.push_back(
        table_of(object, fmt::format("{}: table {}", file, study.tables.size())));
  return study;
}

}  // namespace deepvoro
