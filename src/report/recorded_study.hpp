#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// What `deepvoro study` leaves behind: tables, and what made them.
namespace deepvoro {

using RecordedValue = std::variant<std::monostate, bool, double, std::string>;

struct RecordedColumn {
  std::string name;
  std::string label;
  std::string unit;  // may be empty
};

struct RecordedTable {
  std::string where;  // file and table, for errors
  std::string name;
  std::string title;
  std::vector<RecordedColumn> columns;
  std::vector<std::vector<RecordedValue>> rows;
};

// Rows of a table, in their order. Refers to the table.
class StudyRows {
 public:
  explicit StudyRows(const RecordedTable& table);

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] bool has(std::string_view column) const;
  // Empty where the table has no such column or the row no value.
  [[nodiscard]] std::string text(std::size_t row, std::string_view column) const;
  // Throws a data error where there is no number.
  [[nodiscard]] double number(std::size_t row, std::string_view column) const;
  [[nodiscard]] std::optional<double> maybe(std::size_t row, std::string_view column) const;
  [[nodiscard]] bool flag(std::size_t row, std::string_view column) const;
  // Different texts in the order they first appear.
  [[nodiscard]] std::vector<std::string> distinct(std::string_view column) const;
  [[nodiscard]] StudyRows where(std::string_view column, std::string_view wanted) const;
  // Those with one of these texts.
  [[nodiscard]] StudyRows where(std::string_view column, const std::set<std::string>& texts) const;
  // One for each combination of texts, in the order they first appear. A column that the table does
  // not have distinguishes nothing.
  [[nodiscard]] std::vector<StudyRows> split_by(
      std::initializer_list<std::string_view> columns) const;
  // All columns, for a page: seven digits of a number.
  [[nodiscard]] std::string csv() const;
  [[nodiscard]] const RecordedTable& table() const { return *table_; }

 private:
  StudyRows(const RecordedTable& table, std::vector<std::size_t> rows);
  [[nodiscard]] const RecordedValue& value(std::size_t row, std::string_view column) const;
  [[nodiscard]] std::optional<std::size_t> place(std::string_view column) const;

  const RecordedTable* table_;
  std::vector<std::size_t> rows_;
};

struct RecordedStore {
  std::string name;
  std::string sha256;
};

struct RecordedStudy {
  std::string file;
  std::string name;
  std::string title;
  std::string command;
  std::string version;
  std::string commit;
  std::string settings;  // "5-way, 15 queries, ...", for people
  std::vector<RecordedStore> stores;
  std::vector<RecordedTable> tables;

  // nullptr where the study has no such table.
  [[nodiscard]] const RecordedTable* table(std::string_view wanted) const;
};

// Throws a data error that begins with `file` where the document is not a study.
[[nodiscard]] RecordedStudy parse_study(const nlohmann::json& document, const std::string& file);

}  // namespace deepvoro
