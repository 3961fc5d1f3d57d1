#include "report_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/report/report.hpp"

namespace deepvoro {
namespace {

constexpr const char* kReportFooter = R"(
The page opens from a file, without a network: every figure with its numbers, the command and the
hashes that made it, and the paper's numbers beside ours where it has any. --tables prints tables in
the style of a paper: best bold, second underlined, * where a method is better than the best
baseline with p < 0.05.

Examples:
  deepvoro report results.json --out report.html
  deepvoro report studies results.json --out report.html
  deepvoro report results.json --out report.html --pictures data/quickdraw/pictures/novel.tar
  deepvoro report studies --figures figures
  deepvoro report results.json --tables latex > tables.tex)";

constexpr std::string_view kPageStart = "<!doctype html>";

struct ReportCommand {
  std::vector<std::string> inputs;
  std::string out;
  std::string figures;
  std::string tables;
  std::string pictures;

  void run() const;
};

// Results that were named as the page by mistake would be lost.
void check_may_replace(const std::string& page) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(page, unreadable)) return;
  std::ifstream file(page);
  std::string start(kPageStart.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (file.gcount() > 0 && start != kPageStart)
    throw usage_error(
        fmt::format("--out {}: is there already and is not a page; choose another name", page));
}

void ReportCommand::run() const {
  if (out.empty() && tables.empty() && figures.empty())
    throw usage_error(
        "give --out FILE for a page, --figures FOLDER for figures, --tables for tables");
  if (!out.empty()) check_may_replace(out);
  ReportRequest request{.inputs = {inputs.begin(), inputs.end()}};
  if (!pictures.empty()) request.pictures = pictures;
  const std::string text = tables.empty() ? "" : report_tables(request, table_format_named(tables));
  // Tables go where somebody may read them by a program.
  std::FILE* const said = tables.empty() ? stdout : stderr;
  if (!figures.empty())
    fmt::print(said, "{}: {}\n", figures,
               counted(write_figures(request, figures).size(), "figure", "figures"));
  if (!out.empty()) {
    const ReportContents contents = write_report(request, out);
    std::vector<std::string> sources;
    if (contents.studies > 0) sources.push_back(counted(contents.studies, "study", "studies"));
    if (contents.results > 0) sources.push_back(counted(contents.results, "result", "results"));
    fmt::print(said, "{}: {} and {}, from {}\n", out,
               counted(contents.figures, "figure", "figures"),
               counted(contents.tables, "table", "tables"), fmt::join(sources, " and "));
  }
  fmt::print("{}", text);
}

}  // namespace

void add_report_command(CLI::App& program) {
  auto command = std::make_shared<ReportCommand>();
  CLI::App* app = program.add_subcommand(
      "report", "results and studies as one page with figures, or as tables for a paper");
  app->footer(kReportFooter);
  app->add_option(
         "INPUT", command->inputs,
         "result of deepvoro evaluate --json, study of deepvoro study, or a folder of them")
      ->required();
  app->add_option("--out", command->out, "the page, one HTML file");
  app->add_option("--figures", command->figures, "folder for every figure as an SVG file");
  app->add_option("--tables", command->tables, "print all tables: latex, markdown or csv");
  app->add_option("--pictures", command->pictures,
                  "pictures of the evaluated split, to show the hardest: a folder per class, or an "
                  "archive of one");
  app->callback([command] { command->run(); });
}

}  // namespace deepvoro
