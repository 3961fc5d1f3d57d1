#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace deepvoro {

enum class Emphasis { none, best, second };

// A cell is plain text; each format escapes it in its own way.
struct TableCell {
  std::string text;
  std::vector<double> values = {};  // for CSV, as many as its column has names
  Emphasis emphasis = Emphasis::none;
  bool starred = false;    // significantly better than the best baseline
  bool published = false;  // a number of the paper
};

struct TableColumn {
  std::string label;
  // Names in the header of a CSV file; where there are several, a cell is that many fields.
  std::vector<std::string> csv_names = {};
  bool numeric = true;
};

struct TableRow {
  std::vector<TableCell> cells;
  bool starts_group = false;  // a rule above it
  std::string note = {};      // words in place of the cells behind the first
};

// A table as in a paper: best bold, second underlined, an asterisk where a difference counts.
struct ReportTable {
  std::string id;
  std::string title;
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows = {};
  std::string note = {};
};

[[nodiscard]] std::string table_html(const ReportTable& table);
[[nodiscard]] std::string table_latex(const ReportTable& table);
[[nodiscard]] std::string table_markdown(const ReportTable& table);
[[nodiscard]] std::string table_csv(const ReportTable& table);

// Numbers of a figure, one click away: a header and rows of fields, as CSV.
class CsvText {
 public:
  explicit CsvText(const std::vector<std::string>& header) { add(header); }
  void add(const std::vector<std::string>& fields);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The shortest text that reads back as the same number.
[[nodiscard]] std::string exact(double value);
// "83.17 ± 0.42", "+1.20 ± 0.10" with a sign; without an interval where there is none.
[[nodiscard]] std::string estimate_text(double value, std::optional<double> ci95,
                                        bool show_sign = false);
// A p-value for people.
[[nodiscard]] std::string p_text(double p);
// "0.8 s", "2 min 5 s"
[[nodiscard]] std::string duration_text(double seconds);

// Marks the largest and the second largest first value of a column among the rows that have one and
// are no numbers of the paper.
void emphasise_largest(ReportTable& table, std::size_t column, std::size_t first_row,
                       std::size_t end_row);

}  // namespace deepvoro
