#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/sections/compared.hpp"

namespace deepvoro {
namespace {

bool varies(const StudyRows& rows, std::size_t row, std::string_view column) {
  return rows.maybe(row, column).value_or(1) > 1;
}

std::string counted(const StudyRows& rows, std::size_t row, std::string_view column,
                    const char* what) {
  return varies(rows, row, column) ? fmt::format("{} {}", rows.text(row, column), what) : "";
}

// What makes the members of a row differ, and which of them take part: all levels need no words.
std::string level_words(const StudyRows& rows, std::size_t row, const char* transformations,
                        const char* geometries) {
  const std::string scheme = rows.text(row, "scheme");
  const bool is_average = rows.flag(row, "averaged");
  const bool is_whole = varies(rows, row, "features") &&
                        (varies(rows, row, "transformations") || varies(rows, row, "geometries"));
  if (is_whole && !is_average) return scheme == "full" ? "all members" : scheme;
  const std::string levels = joined({counted(rows, row, "features", "views"),
                                     counted(rows, row, "transformations", transformations),
                                     counted(rows, row, "geometries", geometries)},
                                    " × ");
  return joined({scheme == "none" || scheme == "full" ? "" : scheme,
                 levels.empty() ? "one member" : levels, is_average ? "mean" : ""});
}

std::string levels_label(const StudyRows& rows, std::size_t row) {
  return joined(
      {rows.text(row, "method"), level_words(rows, row, "transformations", "geometries")});
}

// Where the method is known and room is short.
std::string levels_panel_label(const StudyRows& rows, std::size_t row) {
  const bool is_one = !varies(rows, row, "geometries");
  return level_words(rows, row, is_one ? "transformations" : "transf.", "geom.");
}

// The row of no_dist and with_dist with the same scheme and levels.
std::string paper_scheme(const StudyRows& rows, std::size_t row) {
  std::string scheme = rows.text(row, "scheme");
  if (scheme == "random" || scheme == "guided") return scheme;
  const bool views = varies(rows, row, "features");
  const bool others = varies(rows, row, "transformations") || varies(rows, row, "geometries");
  if (views && others) return "full";
  if (views) return "views";
  if (!others) return "none";
  return varies(rows, row, "geometries") ? "geometries" : "transformations";
}

const PaperNumber* published_scheme(const StudyRows& rows, std::size_t row) {
  const std::string method = rows.text(row, "method");
  const char* table = method == "deepvoro" ? "no_dist" : method == "deepvoro++" ? "with_dist" : "";
  if (rows.text(row, "scheme") == "oracle" || rows.text(row, "scheme") == "greedy") return nullptr;
  return paper_number(table, dataset_of(rows.text(row, "store")), paper_scheme(rows, row),
                      shots_of(rows, row));
}

const PaperNumber* published_ablation(const StudyRows& rows, std::size_t row) {
  const std::string method = rows.text(row, "method");
  std::string key = method;
  if (method != "deepvoro--") {
    const std::string levels = paper_scheme(rows, row);
    key += " " + std::string(rows.flag(row, "averaged") || levels == "none" ? "average"
                             : levels == "full"                             ? "guided"
                                                                            : levels);
  }
  return paper_number("ablation_all", dataset_of(rows.text(row, "store")), key,
                      shots_of(rows, row));
}

}  // namespace

std::vector<Block> joint_blocks(const RecordedStudy& study) {
  std::vector<Block> blocks;
  const auto add = [&](const char* name, const char* what) {
    const RecordedTable* table = study.table(name);
    if (table == nullptr) return;
    std::vector<Block> found = compared_blocks(
        study, *table, what, method_label, [](const StudyRows& rows, std::size_t row) {
          return paper_number("joint", dataset_of(rows.text(row, "store")),
                              rows.text(row, "method"), shots_of(rows, row));
        });
    std::ranges::move(found, std::back_inserter(blocks));
  };
  add("joint", "Prototypes and logistic regression, alone and together");
  add("release", "The same, trained as the authors' release does");
  return blocks.empty() ? plain_blocks(study) : blocks;
}

std::vector<Block> ablation_blocks(const RecordedStudy& study) {
  std::vector<Block> blocks;
  const auto add = [&](const char* name, const char* what, const Published& published) {
    const RecordedTable* table = study.table(name);
    if (table == nullptr) return;
    std::vector<Block> found =
        compared_blocks(study, *table, what, levels_label, published, levels_panel_label);
    std::ranges::move(found, std::back_inserter(blocks));
  };
  add("ablation_all", "What views, transformations and geometries bring", published_ablation);
  add("schemes", "Which members take part", published_scheme);
  return blocks.empty() ? plain_blocks(study) : blocks;
}

}  // namespace deepvoro
