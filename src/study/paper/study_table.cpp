#include "study/paper/study_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/csv.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Paths and names of classes need not be UTF-8.
template <class Json>
std::string compact(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string csv_cell(const json& cell) {
  if (cell.is_null()) return "";
  if (!cell.is_string()) return compact(cell);
  return csv_field(cell.get<std::string>());
}

}  // namespace

void StudyTable::add(Row row) {
  if (row.size() != columns.size())
    throw internal_error(fmt::format("table {}: a row of {} cells for {} columns", name, row.size(),
                                     columns.size()));
  rows.push_back(std::move(row));
}

std::string json_text(const StudyTable& table) {
  ordered_json columns = ordered_json::array();
  for (const StudyColumn& column : table.columns) {
    ordered_json object = {{"name", column.name}, {"label", column.label}};
    if (!column.unit.empty()) object["unit"] = column.unit;
    columns.push_back(std::move(object));
  }
  std::string text =
      fmt::format("  {{\"name\":{},\"title\":{},\n   \"columns\":{},\n   \"rows\":[",
                  compact(json(table.name)), compact(json(table.title)), compact(columns));
  const char* separator = "\n    ";
  for (const StudyTable::Row& row : table.rows) {
    text += separator + compact(json(row));
    separator = ",\n    ";
  }
  return text + "]}";
}

std::string csv_text(const StudyTable& table) {
  std::string text;
  const auto add_line = [&](const auto& cells, const auto& shown) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      text += (i == 0 ? "" : ",") + csv_cell(shown(cells[i]));
    text += '\n';
  };
  add_line(table.columns, [](const StudyColumn& column) { return json(column.name); });
  for (const StudyTable::Row& row : table.rows)
    add_line(row, [](const json& cell) -> const json& { return cell; });
  return text;
}

}  // namespace deepvoro
