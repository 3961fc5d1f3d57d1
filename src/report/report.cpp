#include "deepvoro/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/files.hpp"
#include "core/names.hpp"
#include "deepvoro/core/error.hpp"
#include "report/figure_svg.hpp"
#include "report/inputs.hpp"
#include "report/page.hpp"
#include "report/sections/result_groups.hpp"
#include "report/sections/sections.hpp"
#include "report/thumbnails.hpp"

namespace deepvoro {
namespace {

constexpr Names<3> kFormatNames = {"latex", "markdown", "csv"};

// Sections in the order of the questions one asks.
enum class Question { method, size, members, tuning, sure, fails, looks, time, other };
constexpr std::size_t kQuestionCount = 9;
constexpr std::array<std::pair<const char*, const char*>, kQuestionCount> kQuestions{{
    {"methods-section", "Which method?"},
    {"size-section", "How many members, how many shots?"},
    {"members-section", "Which members?"},
    {"tuning-section", "What does tuning choose?"},
    {"sure-section", "How sure is it?"},
    {"fails-section", "Where does it fail?"},
    {"looks-section", "What does it look like?"},
    {"time-section", "How long does it take?"},
    {"other-section", "Further studies"},
}};

struct StudyPart {
  std::string_view study;
  Question question;
  std::vector<Block> (*blocks)(const RecordedStudy& study);
};
constexpr std::array kParts = std::to_array<StudyPart>({
    {"joint", Question::method, joint_blocks},
    {"ablation", Question::method, ablation_blocks},
    {"ensemble-size", Question::size, ensemble_size_blocks},
    {"shots", Question::size, shots_blocks},
    {"members", Question::members, member_blocks},
    {"members", Question::tuning, transformation_blocks},
    {"surrogate-grid", Question::tuning, surrogate_grid_blocks},
    {"outliers", Question::sure, outlier_blocks},
    {"diagram", Question::looks, diagram_blocks},
    {"surrogate-pattern", Question::looks, surrogate_pattern_blocks},
    {"embedding", Question::looks, embedding_blocks},
    {"time", Question::time, time_blocks},
});

// Those that are looked at together.
constexpr std::array<std::string_view, 3> kComparisons{"backbones", "procedures", "cross-domain"};

bool is_known(const RecordedStudy& study) {
  return std::ranges::find(kParts, study.name, &StudyPart::study) != kParts.end() ||
         std::ranges::find(kComparisons, study.name) != kComparisons.end();
}

// Two studies of one name would have the same ids.
void make_ids_unique(Document& document) {
  std::set<std::string> known;
  for (const auto& [id, title] : kQuestions) known.insert(id);
  const auto make_unique = [&](std::string& id) {
    const std::string wanted = id;
    for (int i = 2; !known.insert(id).second; ++i) id = fmt::format("{}-again{}", wanted, i);
  };
  for (Section& section : document.sections)
    for (Block& block : section.blocks) {
      if (auto* shown = std::get_if<ShownTable>(&block)) make_unique(shown->table.id);
      if (auto* figure = std::get_if<Figure>(&block)) make_unique(figure->id);
      if (auto* gallery = std::get_if<Gallery>(&block)) make_unique(gallery->id);
    }
}

std::string subject_of(const ReportInputs& inputs) {
  std::vector<std::string> parts;
  for (const ResultGroup& group : group_results(inputs.results)) parts.push_back(group.title());
  if (!inputs.studies.empty()) {
    std::vector<std::string> names;
    std::vector<std::string> stores;
    for (const RecordedStudy& study : inputs.studies) {
      if (std::ranges::find(names, study.name) == names.end()) names.push_back(study.name);
      for (const RecordedStore& store : study.stores)
        if (std::ranges::find(stores, store.name) == stores.end()) stores.push_back(store.name);
    }
    parts.push_back(fmt::format("{} {} on {}", names.size() == 1 ? "the study" : "the studies",
                                listed(names), listed(stores)));
  }
  return joined(parts, "; ");
}

ReportInputs inputs_of(const ReportRequest& request) {
  if (request.inputs.empty())
    throw usage_error("a report needs at least one result, study or folder of them");
  return read_inputs(request.inputs);
}

Document document_of(const ReportRequest& request, const ReportInputs& inputs) {
  const Thumbnails thumbnails =
      request.pictures ? thumbnails_from(*request.pictures) : Thumbnails();
  std::array<std::vector<Block>, kQuestionCount> blocks;
  const auto add = [&](Question question, std::vector<Block> found) {
    for (Block& block : found)
      blocks.at(static_cast<std::size_t>(question)).push_back(std::move(block));
  };
  add(Question::method, method_blocks(inputs.results));
  add(Question::method, network_blocks(inputs.studies));
  add(Question::sure, reliability_blocks(inputs.results));
  add(Question::fails, failure_blocks(inputs.results, thumbnails));
  add(Question::looks, first_figure_blocks(inputs.studies));
  for (const StudyPart& part : kParts)
    for (const RecordedStudy& study : inputs.studies)
      if (study.name == part.study) add(part.question, part.blocks(study));
  add(Question::method, setting_blocks(inputs.studies));
  for (const RecordedStudy& study : inputs.studies)
    if (!is_known(study)) add(Question::other, plain_blocks(study));

  Document document{
      .title = "Few-shot classification by Voronoi diagrams",
      .subject = subject_of(inputs),
      .lead = joined({main_result(inputs.results), main_finding(inputs.studies)}, " ")};
  for (std::size_t question = 0; question < kQuestionCount; ++question)
    if (!blocks[question].empty())
      document.sections.push_back(
          {kQuestions[question].first, kQuestions[question].second, std::move(blocks[question])});
  make_ids_unique(document);
  return document;
}

}  // namespace

TableFormat table_format_named(const std::string& name) {
  return value_named<TableFormat>(name, kFormatNames, "`tables` {}: unknown; use {}");
}

ReportContents write_report(const ReportRequest& request, const std::filesystem::path& file) {
  const ReportInputs inputs = inputs_of(request);
  const Document document = document_of(request, inputs);
  AtomicFile out(file);
  out.write(page_html(document));
  out.commit();
  ReportContents contents{.results = inputs.results.size(), .studies = inputs.studies.size()};
  for (const Section& section : document.sections)
    for (const Block& block : section.blocks) {
      contents.tables += std::holds_alternative<ShownTable>(block) ? 1U : 0U;
      contents.figures += std::holds_alternative<ShownTable>(block) ? 0U : 1U;
    }
  return contents;
}

std::vector<std::filesystem::path> write_figures(const ReportRequest& request,
                                                 const std::filesystem::path& folder) {
  const Document document = document_of(request, inputs_of(request));
  std::error_code failed;  // shows when the first file is written
  std::filesystem::create_directories(folder, failed);
  std::vector<std::filesystem::path> files;
  for (const Section& section : document.sections)
    for (const Block& block : section.blocks) {
      const auto* figure = std::get_if<Figure>(&block);
      if (figure == nullptr) continue;
      files.push_back(folder / (figure->id + ".svg"));
      AtomicFile out(files.back());
      out.write(figure_svg(*figure));
      out.commit();
    }
  return files;
}

std::string report_tables(const ReportRequest& request, TableFormat format) {
  std::string text;
  for (const Section& section : document_of(request, inputs_of(request)).sections)
    for (const Block& block : section.blocks) {
      const auto* shown = std::get_if<ShownTable>(&block);
      if (shown == nullptr) continue;
      if (!text.empty()) text += "\n";
      switch (format) {
        case TableFormat::latex:
          text += table_latex(shown->table);
          break;
        case TableFormat::markdown:
          text += table_markdown(shown->table);
          break;
        case TableFormat::csv:
          text += table_csv(shown->table);
          break;
      }
    }
  return text;
}

}  // namespace deepvoro
