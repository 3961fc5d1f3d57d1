#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "core/csv.hpp"
#include "report/escape.hpp"

namespace deepvoro {
namespace {

std::string html_cell(const TableCell& cell, const TableColumn& column, bool is_head) {
  std::string classes = column.numeric ? "n" : "";
  if (cell.published) classes += " paper";
  std::string inner = html(with_minus(cell.text));
  if (cell.emphasis == Emphasis::best) inner = "<b>" + inner + "</b>";
  if (cell.emphasis == Emphasis::second) inner = "<u>" + inner + "</u>";
  if (cell.starred) inner += "<sup>*</sup>";
  const std::string attribute =
      classes.empty() ? ""
                      : fmt::format(" class=\"{}\"", classes.substr(classes[0] == ' ' ? 1 : 0));
  return is_head ? fmt::format("<th scope=\"row\"{}>{}</th>", attribute, inner)
                 : fmt::format("<td{}>{}</td>", attribute, inner);
}

std::string latex_cell(const TableCell& cell) {
  std::string inner = latex(with_minus(cell.text));
  if (cell.emphasis == Emphasis::best) inner = "\\textbf{" + inner + "}";
  if (cell.emphasis == Emphasis::second) inner = "\\underline{" + inner + "}";
  if (cell.starred) inner += "$^{*}$";
  return cell.published ? "\\textcolor{gray}{" + inner + "}" : inner;
}

std::string markdown_cell(const TableCell& cell) {
  std::string inner = markdown(cell.text);
  if (cell.emphasis == Emphasis::best) inner = "**" + inner + "**";
  // Markdown has no underlining.
  if (cell.emphasis == Emphasis::second) inner = "*" + inner + "*";
  if (cell.starred) inner += "\\*";
  return inner;
}

std::vector<std::string> csv_names(const TableColumn& column) {
  return column.csv_names.empty() ? std::vector<std::string>{column.label} : column.csv_names;
}

}  // namespace

std::string table_html(const ReportTable& table) {
  std::string out = "<table><thead><tr>";
  for (const TableColumn& column : table.columns)
    out += fmt::format("<th scope=\"col\"{}>{}</th>", column.numeric ? " class=\"n\"" : "",
                       html(column.label));
  out += "</tr></thead><tbody>\n";
  for (const TableRow& row : table.rows) {
    out += row.starts_group ? "<tr class=\"rule\">" : "<tr>";
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      out += html_cell(row.cells[i], table.columns[i], i == 0);
    if (!row.note.empty())
      out += fmt::format("<td class=\"said\" colspan=\"{}\">{}</td>",
                         table.columns.size() - row.cells.size(), html(row.note));
    out += "</tr>\n";
  }
  return out + "</tbody></table>";
}

std::string table_latex(const ReportTable& table) {
  std::string columns;
  std::string header;
  for (const TableColumn& column : table.columns) {
    columns += column.numeric ? 'r' : 'l';
    header += (header.empty() ? "" : " & ") + fmt::format("\\textbf{{{}}}", latex(column.label));
  }
  std::string out = fmt::format(
      "% needs \\usepackage{{booktabs,xcolor}}\n\\begin{{table}}[tb]\\centering\n\\caption{{{}}}"
      "\\label{{tab:{}}}\n\\begin{{tabular}}{{{}}}\\toprule\n{} \\\\\\midrule\n",
      latex(table.title + "." + (table.note.empty() ? "" : " " + table.note)), table.id, columns,
      header);
  for (const TableRow& row : table.rows) {
    if (row.starts_group) out += "\\midrule\n";
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      out += (i == 0 ? "" : " & ") + latex_cell(row.cells[i]);
    if (!row.note.empty())
      out += fmt::format(" & \\multicolumn{{{}}}{{l}}{{\\emph{{{}}}}}",
                         table.columns.size() - row.cells.size(), latex(row.note));
    out += " \\\\\n";
  }
  return out + "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
}

std::string table_markdown(const ReportTable& table) {
  std::string out = fmt::format("**{}**\n\n|", markdown(table.title));
  std::string rule = "|";
  for (const TableColumn& column : table.columns) {
    out += fmt::format(" {} |", markdown(column.label));
    rule += column.numeric ? " ---: |" : " --- |";
  }
  out += "\n" + rule + "\n";
  for (const TableRow& row : table.rows) {
    out += "|";
    for (const TableCell& cell : row.cells) out += fmt::format(" {} |", markdown_cell(cell));
    if (!row.note.empty()) out += fmt::format(" {} |", markdown(row.note));
    out += "\n";
  }
  if (!table.note.empty()) out += fmt::format("\n{}\n", markdown(table.note));
  return out;
}

std::string table_csv(const ReportTable& table) {
  std::vector<std::string> header;
  for (const TableColumn& column : table.columns)
    for (const std::string& name : csv_names(column)) header.push_back(name);
  CsvText out(header);
  for (const TableRow& row : table.rows) {
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const TableCell& cell = row.cells[i];
      const std::size_t names = csv_names(table.columns[i]).size();
      for (std::size_t j = 0; j < names; ++j)
        fields.push_back(j < cell.values.size() ? exact(cell.values[j])
                         : j == 0 && names == 1 ? cell.text
                                                : "");
    }
    fields.resize(header.size());
    out.add(fields);
  }
  return out.text();
}

void CsvText::add(const std::vector<std::string>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i)
    text_ += (i == 0 ? "" : ",") + csv_field(fields[i]);
  text_ += "\n";
}

std::string exact(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

std::string estimate_text(double value, std::optional<double> ci95, bool show_sign) {
  std::string text = show_sign ? fmt::format("{:+.2f}", value) : fmt::format("{:.2f}", value);
  if (text == "-0.00" || text == "+0.00") text = "0.00";
  return ci95 ? fmt::format("{} ± {:.2f}", text, *ci95) : text;
}

std::string p_text(double p) {
  if (p < 1e-300) return "< 1e-300";
  return p < 0.001 ? fmt::format("{:.0e}", p) : fmt::format("{:.3f}", p);
}

std::string duration_text(double seconds) {
  if (seconds < 0.0095) return fmt::format("{:.1f} ms", 1000 * seconds);
  if (seconds < 0.95) return fmt::format("{:.0f} ms", 1000 * seconds);
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  if (seconds < 119.5) return fmt::format("{:.0f} s", seconds);
  const double minutes = seconds / 60;
  return minutes < 119.5 ? fmt::format("{:.0f} min", minutes)
                         : fmt::format("{:.1f} h", minutes / 60);
}

void emphasise_largest(ReportTable& table, std::size_t column, std::size_t first_row,
                       std::size_t end_row) {
  std::set<double, std::greater<>> values;
  const auto value_of = [&](const TableRow& row) -> std::optional<double> {
    if (column >= row.cells.size()) return std::nullopt;
    const TableCell& cell = row.cells[column];
    if (cell.published || cell.values.empty()) return std::nullopt;
    return cell.values.front();
  };
  for (std::size_t r = first_row; r < end_row; ++r)
    if (const auto value = value_of(table.rows[r])) values.insert(*value);
  if (values.size() < 2) return;
  const double best = *values.begin();
  const double second = *std::next(values.begin());
  for (std::size_t r = first_row; r < end_row; ++r) {
    const auto value = value_of(table.rows[r]);
    if (!value) continue;
    if (*value == best) table.rows[r].cells[column].emphasis = Emphasis::best;
    if (*value == second) table.rows[r].cells[column].emphasis = Emphasis::second;
  }
}

}  // namespace deepvoro
