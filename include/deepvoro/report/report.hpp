#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

enum class TableFormat { latex, markdown, csv };

[[nodiscard]] DEEPVORO_API TableFormat table_format_named(const std::string& name);

// Results of evaluations and studies as a page or as tables for a paper.
struct ReportRequest {
  // Files that `evaluate` or `study` wrote, or folders of them.
  std::vector<std::filesystem::path> inputs;
  // The pictures of the evaluated split, a folder per class or an archive of one, to show those
  // that are hardest. A class is shown only where it has as many pictures here as samples there.
  std::optional<std::filesystem::path> pictures = {};
};

// What a report was made of, and what it shows.
struct ReportContents {
  std::size_t results = 0;
  std::size_t studies = 0;
  std::size_t figures = 0;
  std::size_t tables = 0;
};

// One HTML file that opens without a network.
DEEPVORO_API ReportContents write_report(const ReportRequest& request,
                                         const std::filesystem::path& file);

// Every figure of the report as an SVG file of its own, in a folder that is made where there is
// none. Returns the files.
DEEPVORO_API std::vector<std::filesystem::path> write_figures(const ReportRequest& request,
                                                              const std::filesystem::path& folder);

// All tables of the report, one after the other, with a line between them.
[[nodiscard]] DEEPVORO_API std::string report_tables(const ReportRequest& request,
                                                     TableFormat format);

}  // namespace deepvoro
