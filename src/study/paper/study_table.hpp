#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace deepvoro {

// What a study writes: columns with a name, a label for people and perhaps a unit; cells are
// numbers, texts, true, false or null.
struct StudyColumn {
  std::string name;
  std::string label;
  std::string unit = {};
};

struct StudyTable {
  using Row = std::vector<nlohmann::json>;

  std::string name;
  std::string title;
  std::vector<StudyColumn> columns;
  std::vector<Row> rows = {};

  void add(Row row);  // a cell for each column
};

// One line for each row.
[[nodiscard]] std::string json_text(const StudyTable& table);
// A header of column names; null is an empty cell.
[[nodiscard]] std::string csv_text(const StudyTable& table);

}  // namespace deepvoro
