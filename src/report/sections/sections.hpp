#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/document.hpp"
#include "report/inputs.hpp"

// The parts of a report. Each function turns numbers into what a section shows of them.
namespace deepvoro {

// A small picture of a sample of a class, PNG as base64; empty where it is not known.
using Thumbnails = std::function<std::string(const Answers::OfClass& of_class, std::size_t place)>;

[[nodiscard]] std::vector<Block> method_blocks(const std::vector<ReportedResult>& results);
[[nodiscard]] std::vector<Block> reliability_blocks(const std::vector<ReportedResult>& results);
[[nodiscard]] std::vector<Block> failure_blocks(const std::vector<ReportedResult>& results,
                                                const Thumbnails& thumbnails);
// The main result, a sentence for each store.
[[nodiscard]] std::string main_result(const std::vector<ReportedResult>& results);
// The same of the study that compares methods; empty where it was not run.
[[nodiscard]] std::string main_finding(const std::vector<RecordedStudy>& studies);
// The paper's first figure, where its parts were made of features in the plane.
[[nodiscard]] std::vector<Block> first_figure_blocks(const std::vector<RecordedStudy>& studies);

[[nodiscard]] std::vector<Block> joint_blocks(const RecordedStudy& study);
[[nodiscard]] std::vector<Block> ablation_blocks(const RecordedStudy& study);
// backbones; procedures and cross-domain, where they are of other stores
[[nodiscard]] std::vector<Block> network_blocks(const std::vector<RecordedStudy>& studies);
[[nodiscard]] std::vector<Block> setting_blocks(const std::vector<RecordedStudy>& studies);
[[nodiscard]] std::vector<Block> ensemble_size_blocks(const RecordedStudy& study);
[[nodiscard]] std::vector<Block> member_blocks(const RecordedStudy& study);
[[nodiscard]] std::vector<Block> transformation_blocks(const RecordedStudy& study);
[[nodiscard]] std::vector<Block> surrogate_grid_blocks(const RecordedStudy& study);
[[nodiscard]] std::vector<Block> surrogate_pattern_blocks(const RecordedStudy& study);
[[nodiscard]] std::vector<Block> shots_blocks(const RecordedStudy& study);
[[nodiscard]] std::vector<Block> outlier_blocks(const RecordedStudy& study);
[[nodiscard]] std::vector<Block> embedding_blocks(const RecordedStudy& study);
[[nodiscard]] std::vector<Block> diagram_blocks(const RecordedStudy& study);
[[nodiscard]] std::vector<Block> time_blocks(const RecordedStudy& study);
// A table of a study that nothing here draws, as it is.
[[nodiscard]] std::vector<Block> plain_blocks(const RecordedStudy& study);

// --- words and numbers that several of them need ---

inline constexpr double kSignificant = 0.05;  // below which a p-value counts

[[nodiscard]] Provenance provenance(const RecordedStudy& study);
// "1 shot", "5 shots"; empty for an empty text
[[nodiscard]] std::string shots_text(const std::string& shots);
// "cub, 1 shot"
[[nodiscard]] std::string joined(const std::vector<std::string>& parts,
                                 const char* separator = ", ");
// "a, b and c"
[[nodiscard]] std::string listed(const std::vector<std::string>& words);
// "a does x and y, b does z": what several say of one subject, said once.
struct Statement {
  std::string subject;
  std::string words;
};
[[nodiscard]] std::string told(const std::vector<Statement>& statements, const std::string& verb);
[[nodiscard]] std::size_t as_count(double value);
// The name of a class as a label of a figure: without the number that some data sets put before it.
[[nodiscard]] std::string class_label(const std::string& name, std::size_t most_characters);
// Rows of a study's table, its columns as they are.
[[nodiscard]] ReportTable plain_table(const StudyRows& rows, const std::string& id);
// The same for each store, with a rule wherever one of these columns changes.
[[nodiscard]] std::vector<ReportTable> tables_by_store(
    const RecordedTable& table, const std::string& id,
    const std::vector<std::string_view>& grouped_by = {});

// Whether a method is above the best baseline of its store and shots, `rows`, and p says that this
// is no accident. Baselines are the methods without a p.
[[nodiscard]] bool beats_baselines(const StudyRows& rows, std::size_t row);
// Methods side by side, a row for each store and number of shots.
[[nodiscard]] ReportTable overview_table(const StudyRows& rows, const std::string& id,
                                         const std::string& title);

// Rows of a dot plot: what was measured here, and what the paper says of it.
struct ComparedRow {
  std::string label;
  double accuracy = 0;
  double ci95 = 0;
  std::optional<double> published = {};
  std::optional<double> published_ci95 = {};
};
// `also`: accuracies of other panels, so that their axes are the same.
[[nodiscard]] Drawing dot_plot(const std::string& title, const std::vector<ComparedRow>& rows,
                               const std::string& alt, const std::vector<double>& also = {});

// Differences with their intervals around a line at zero.
struct DifferenceRow {
  std::string label;
  std::string method;  // for its colour
  double difference = 0;
  double ci95 = 0;
  std::string tip = {};
};
[[nodiscard]] Drawing difference_plot(const std::string& title, const std::string& axis,
                                      const std::vector<DifferenceRow>& rows,
                                      const std::string& alt);

}  // namespace deepvoro
