#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/plot.hpp"
#include "report/sections/diagram_panel.hpp"
#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

const char* geometry_words(const std::string& geometry) {
  if (geometry == "vd") return "Voronoi diagram";
  if (geometry == "power") return "power diagram";
  if (geometry == "civd") return "CIVD";
  if (geometry == "ccvd") return "CCVD";
  if (geometry == "plda") return "plda";
  return nullptr;
}

// The points of a store and a number of shots.
StudyRows points_of(const RecordedTable& points, const StudyRows& panels) {
  StudyRows of_store(points);
  for (const char* column : {"store", "shots"})
    if (of_store.has(column) && panels.has(column))
      of_store = of_store.where(column, panels.text(0, column));
  return of_store;
}

// How many queries of a panel lie in the cell of another class.
struct Misplaced {
  std::size_t wrong = 0;
  std::size_t asked = 0;
};
Misplaced misplaced(const StudyRows& points) {
  const std::size_t wrong = points.where("role", "query-wrong").size();
  return {wrong, wrong + points.where("role", "query").size()};
}

std::string panel_words(const StudyRows& rows, std::size_t row) {
  const char* words = geometry_words(rows.text(row, "geometry"));
  if (words == nullptr) return rows.text(row, "panel");
  return rows.text(row, "split") == "base" ? joined({"base classes", words}) : words;
}

// Distances of an episode to few base classes: of each class the sample, thick, and its queries.
Drawing pattern_panel(const StudyRows& rows, const std::vector<std::string>& classes) {
  const std::vector<std::string> base_classes = rows.distinct("base_class");
  std::map<std::string, double> place_of;
  Axis x{.label = "base class", .low = 0.7, .high = static_cast<double>(base_classes.size()) + 0.3};
  for (const std::string& name : base_classes) {
    const auto place = static_cast<double>(place_of.size() + 1);
    x.ticks.emplace_back(place, shortened(name, 4));
    place_of[name] = place;
  }
  std::vector<double> distances;
  for (std::size_t r = 0; r < rows.size(); ++r) distances.push_back(rows.number(r, "distance"));
  const std::string title = fmt::format("distances to the {} base classes", base_classes.size());
  Panel panel(title, x, linear_axis("distance", distances, {.low = 0.0}),
              {.height = 384, .right = label_room(classes)});
  std::vector<std::pair<double, std::string>> labels;
  std::vector<Series> series;
  for (const bool support : {false, true})
    for (std::size_t c = 0; c < classes.size(); ++c) {
      const StudyRows of_class =
          rows.where("row", support ? "support" : "query").where("class", classes[c]);
      for (const StudyRows& sample : of_class.split_by({"sample"})) {
        std::vector<Point> line;
        for (std::size_t r = 0; r < sample.size(); ++r)
          line.push_back({place_of.at(sample.text(r, "base_class")), sample.number(r, "distance")});
        const Series colour{.colour = c % 8};
        if (!support) {
          panel.thin_line(line, colour);
          continue;
        }
        panel.line(line, {.colour = c % 8, .dashed = true});
        for (std::size_t r = 0; r < line.size(); ++r)
          panel.marker(line[r], {.colour = c % 8, .marker = 1},
                       fmt::format("{}, support, to {}: {:.2f}", classes[c],
                                   sample.text(r, "base_class"), line[r].y),
                       false, 4);
        labels.emplace_back(line.back().y, class_label(classes[c], 12));
        series.push_back(colour);
      }
    }
  panel.end_labels(labels, series);
  return panel.drawing(title + ": dashed lines are the labelled samples, thin ones their queries");
}

// The row of a panel of the plain Voronoi diagram of a split.
std::optional<std::size_t> voronoi_row(const StudyRows& panels, const char* split) {
  for (std::size_t r = 0; r < panels.size(); ++r)
    if (panels.text(r, "geometry") == "vd" && panels.text(r, "split") == split) return r;
  return std::nullopt;
}

void add_first_figures(const RecordedStudy& diagram, const RecordedStudy& surrogates,
                       std::vector<Block>& blocks) {
  constexpr std::size_t most_base_classes = 12;
  const RecordedTable* panels = diagram.table("panels");
  const RecordedTable* points = diagram.table("points");
  const RecordedTable* patterns = surrogates.table("pattern");
  if (panels == nullptr || points == nullptr || patterns == nullptr) return;
  for (const StudyRows& rows : StudyRows(*panels).split_by({"store", "shots"})) {
    const StudyRows pattern = points_of(*patterns, rows);
    const StudyRows of_store = points_of(*points, rows);
    const auto base = voronoi_row(rows, "base");
    const auto novel = voronoi_row(rows, "novel");
    if (!base || !novel || of_store.where("role", "sample").size() == 0 || pattern.size() == 0 ||
        !pattern.has("sample") || pattern.distinct("base_class").size() > most_base_classes)
      continue;
    const StudyRows of_base = of_store.where("panel", rows.text(*base, "panel"));
    const StudyRows of_novel = of_store.where("panel", rows.text(*novel, "panel"));
    const auto [wrong, asked] = misplaced(of_novel);
    const std::string shots = shots_text(rows.text(0, "shots"));
    blocks.emplace_back(Figure{
        .id = "first-figure",
        .title = fmt::format(
            "{} per class divides the plane: {} of {} queries lie in the cell of their class",
            rows.text(0, "shots") == "1" ? "One sample" : "A mean", asked - wrong, asked),
        .panels = {diagram_panel(rows, *base, of_base,
                                 fmt::format("{} base classes: the network has seen them",
                                             of_base.where("role", "center").size())),
                   diagram_panel(rows, *novel, of_novel,
                                 fmt::format("{} novel classes, {} each",
                                             of_novel.where("role", "center").size(), shots)),
                   pattern_panel(pattern,
                                 of_novel.where("role", "support").distinct("class_name"))},
        .note = "The paper's first figure. First: Voronoi cells of the base classes' means "
                "(crosses), with samples. Second: cells of new classes around their labelled "
                "samples (squares); queries are hollow, those in a wrong cell ringed. Third: how "
                "far the samples (dashed) and queries (thin) are from the base classes: a pattern "
                "by which DeepVoro++ knows a class again.",
        .csv = of_store.csv(),
        .made_by = provenance(diagram),
        .columns = 3});
  }
}

}  // namespace

std::vector<Block> diagram_blocks(const RecordedStudy& study) {
  const RecordedTable* panels = study.table("panels");
  const RecordedTable* points = study.table("points");
  if (panels == nullptr || points == nullptr) return plain_blocks(study);
  std::vector<Block> blocks;
  std::size_t number = 0;
  for (const StudyRows& rows : StudyRows(*panels).split_by({"store", "shots"})) {
    Figure figure{.id = fmt::format("diagram-{}", ++number),
                  .title = {},
                  .panels = {},
                  .note =
                      "Crosses: centers. Squares: support. Hollow: queries; ringed where they lie "
                      "in the cell of another class. Dots: samples of base classes.",
                  .made_by = provenance(study)};
    if (const std::string projection = rows.text(0, "projection"); !projection.empty())
      figure.note += fmt::format(" The plane: {}.", projection);
    const StudyRows of_store = points_of(*points, rows);
    figure.csv = of_store.csv();
    std::vector<std::pair<std::size_t, std::string>> wrong;
    std::size_t all = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const StudyRows of_panel = of_store.where("panel", rows.text(r, "panel"));
      const auto [missed, asked] = misplaced(of_panel);
      const std::string words = panel_words(rows, r);
      figure.panels.push_back(diagram_panel(
          rows, r, of_panel,
          asked > 0 ? fmt::format("{}: {} of {} wrong", words, missed, asked) : words));
      if (asked == 0) continue;
      wrong.emplace_back(missed, words);
      all = asked;
    }
    std::ranges::stable_sort(wrong, {}, &std::pair<std::size_t, std::string>::first);
    const std::string store = rows.text(0, "store");
    figure.title = fmt::format("How the plane is divided, {}", store);
    if (!wrong.empty()) {
      std::vector<std::string> listing;
      listing.reserve(wrong.size());
      for (const auto& [missed, words] : wrong)
        listing.push_back(fmt::format("{} {}", words, missed));
      figure.title = fmt::format("{}: of {} queries in the plane these lie in a wrong cell: {}",
                                 store, all, listed(listing));
    }
    blocks.emplace_back(std::move(figure));
  }
  return blocks;
}

std::vector<Block> first_figure_blocks(const std::vector<RecordedStudy>& studies) {
  std::vector<Block> blocks;
  for (const RecordedStudy& diagram : studies)
    for (const RecordedStudy& surrogates : studies)
      if (diagram.name == "diagram" && surrogates.name == "surrogate-pattern")
        add_first_figures(diagram, surrogates, blocks);
  return blocks;
}

}  // namespace deepvoro
