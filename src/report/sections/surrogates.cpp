#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "report/plot.hpp"
#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kMostCells = 2000;       // of a heat map
constexpr std::size_t kShownBaseClasses = 64;  // as many as mini-ImageNet has

struct Grid {
  std::vector<double> neighbours;  // R, ascending
  std::vector<double> betas;       // ascending
  std::size_t best = 0;            // row with the best accuracy on val
};

Grid grid_of(const StudyRows& rows) {
  std::set<double> neighbours;
  std::set<double> betas;
  Grid grid;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    neighbours.insert(rows.number(r, "R"));
    betas.insert(rows.number(r, "beta"));
    if (rows.number(r, "val") > rows.number(grid.best, "val")) grid.best = r;
  }
  grid.neighbours.assign(neighbours.begin(), neighbours.end());
  grid.betas.assign(betas.begin(), betas.end());
  return grid;
}

double place(const std::vector<double>& values, double value) {
  return static_cast<double>(std::ranges::lower_bound(values, value) - values.begin());
}

Drawing heat_map(const StudyRows& rows, const Grid& grid, const char* split, double low,
                 double high, const std::string& title) {
  Axis x{.label = "R, base classes near each prototype",
         .low = 0,
         .high = static_cast<double>(grid.neighbours.size())};
  Axis y{.label = "β, weight of the plain distance",
         .low = 0,
         .high = static_cast<double>(grid.betas.size())};
  const auto ticks = [](const std::vector<double>& values, std::size_t most) {
    std::vector<std::pair<double, std::string>> found;
    const std::size_t step = (values.size() + most - 1) / most;
    for (std::size_t i = 0; i < values.size(); i += step)
      found.emplace_back(static_cast<double>(i) + 0.5, fmt::format("{:g}", values[i]));
    return found;
  };
  x.ticks = ticks(grid.neighbours, 12);
  y.ticks = ticks(grid.betas, 10);
  Panel panel(title, x, y, {.height = 310, .right = 8});
  std::vector<HeatCell> cells;
  std::map<double, std::size_t> chosen;  // for each R the row with the best beta on val
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double column = place(grid.neighbours, rows.number(r, "R"));
    const double row = place(grid.betas, rows.number(r, "beta"));
    const double value = rows.number(r, split);
    cells.push_back(
        {{column, row}, {column + 1, row + 1}, high > low ? (value - low) / (high - low) : 0.5});
    const auto [known, is_new] = chosen.emplace(column, r);
    if (!is_new && rows.number(r, "val") > rows.number(known->second, "val")) known->second = r;
  }
  panel.heat_map(cells, fmt::format("R {{R}}, β {{beta}}: {0} {{{0}}} %", split));
  for (const auto& [column, r] : chosen) {
    const double row = place(grid.betas, rows.number(r, "beta"));
    const bool is_best = r == grid.best;
    panel.rectangle({column, row}, {column + 1, row + 1}, is_best ? "under best" : "under", "", "");
    panel.rectangle({column, row}, {column + 1, row + 1}, is_best ? "pick best" : "pick", "",
                    fmt::format("R {}: β {} is best on val; {} {:.2f} %", rows.text(r, "R"),
                                rows.text(r, "beta"), split, rows.number(r, split)));
  }
  return panel.drawing(title);
}

// Of the queries of an episode, those whose distances to the base classes are nearest to the mean
// of their own class's support, if samples are told apart.
struct Followers {
  std::size_t queries = 0;
  std::size_t own = 0;
};

Followers followers(const StudyRows& rows) {
  using Pattern = std::map<std::string, double>;  // by base class
  std::map<std::string, Pattern> of_support;
  for (const StudyRows& one : rows.where("row", "support").split_by({"class", "base_class"})) {
    double sum = 0;
    for (std::size_t r = 0; r < one.size(); ++r) sum += one.number(r, "distance");
    of_support[one.text(0, "class")][one.text(0, "base_class")] =
        sum / static_cast<double>(one.size());
  }
  Followers found;
  if (!rows.has("sample")) return found;
  for (const StudyRows& query : rows.where("row", "query").split_by({"class", "sample"})) {
    std::string nearest;
    double least = HUGE_VAL;
    for (const auto& [name, pattern] : of_support) {
      double squared = 0;
      for (std::size_t r = 0; r < query.size(); ++r) {
        const auto known = pattern.find(query.text(r, "base_class"));
        const double gap = known == pattern.end() ? 0 : query.number(r, "distance") - known->second;
        squared += gap * gap;
      }
      if (squared < least) {
        least = squared;
        nearest = name;
      }
    }
    ++found.queries;
    found.own += nearest == query.text(0, "class") ? 1U : 0U;
  }
  return found;
}

}  // namespace

std::vector<Block> surrogate_grid_blocks(const RecordedStudy& study) {
  const RecordedTable* table = study.table("grid");
  if (table == nullptr) return plain_blocks(study);
  std::vector<Block> blocks;
  std::size_t number = 0;
  for (const StudyRows& rows : StudyRows(*table).split_by({"store", "shots", "lambda", "b"})) {
    const Grid grid = grid_of(rows);
    if (grid.neighbours.size() * grid.betas.size() > kMostCells) return plain_blocks(study);
    std::vector<double> values;
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (const char* split : {"val", "novel"}) values.push_back(rows.number(r, split));
    std::ranges::sort(values);
    // The worst tenth is far below the rest, in which the choice is made.
    const double low = values[values.size() / 10];
    const double high = values.back();
    const std::string context =
        joined({rows.text(0, "store"), shots_text(rows.text(0, "shots")),
                fmt::format("λ = {}, b = {}", rows.text(0, "lambda"), rows.text(0, "b"))});
    double best_novel = -HUGE_VAL;
    for (std::size_t r = 0; r < rows.size(); ++r)
      best_novel = std::max(best_novel, rows.number(r, "novel"));
    const double lost = best_novel - rows.number(grid.best, "novel");
    Figure figure{
        .id = fmt::format("surrogate-grid-{}", ++number),
        .title = fmt::format(
            "The choice on val (R = {}, β = {}) {} on novel", rows.text(grid.best, "R"),
            rows.text(grid.best, "beta"),
            lost < 0.005 ? "is also the best" : fmt::format("is {:.2f} below the best", lost)),
        .panels = {heat_map(rows, grid, "val", low, high, "val: " + context),
                   heat_map(rows, grid, "novel", low, high, "novel: " + context),
                   colour_bar(low, high, "accuracy, %")},
        .note =
            "Both maps have one scale; its darkest colour is also that of the worst tenth. "
            "Outlined: for each R the β that is best on val; thick, the "
            "best of all on val.",
        .csv = rows.csv(),
        .made_by = provenance(study)};
    blocks.emplace_back(std::move(figure));
  }
  if (const RecordedTable* chosen = study.table("chosen"))
    for (ReportTable& of_store : tables_by_store(*chosen, "surrogate-grid-chosen", {"lambda", "b"}))
      blocks.emplace_back(ShownTable{std::move(of_store), provenance(study)});
  return blocks;
}

std::vector<Block> surrogate_pattern_blocks(const RecordedStudy& study) {
  const RecordedTable* table = study.table("pattern");
  if (table == nullptr) return plain_blocks(study);
  std::vector<Block> blocks;
  std::size_t number = 0;
  for (const StudyRows& of_episode : StudyRows(*table).split_by({"store", "shots"})) {
    std::vector<std::string> base_classes = of_episode.distinct("base_class");
    const std::size_t all = base_classes.size();
    base_classes.resize(std::min(all, kShownBaseClasses));
    const StudyRows rows =
        of_episode.where("base_class", std::set(base_classes.begin(), base_classes.end()));
    const Followers follow = followers(of_episode);
    std::map<std::string, double> place_of;
    for (std::size_t i = 0; i < base_classes.size(); ++i)
      place_of[base_classes[i]] = static_cast<double>(i + 1);
    std::vector<double> distances;
    for (std::size_t r = 0; r < rows.size(); ++r) distances.push_back(rows.number(r, "distance"));
    const std::vector<double> ends{1, static_cast<double>(base_classes.size())};
    Figure figure{
        .id = fmt::format("surrogate-pattern-{}", ++number),
        .title = follow.queries > 0
                     ? fmt::format("{} of {} queries have the pattern of their own class's support",
                                   follow.own, follow.queries)
                     : fmt::format("Distances to {} base classes", base_classes.size()),
        .panels = {},
        .note = fmt::format(
            "Distances to base classes{}. Thick: a support sample or prototype. Thin: queries "
            "of "
            "the same class. One episode; a query has the pattern that is nearest over all {} base "
            "classes.",
            all > base_classes.size()
                ? fmt::format(", the first {} of {}", base_classes.size(), all)
                : "",
            all),
        .csv = rows.csv(),
        .made_by = provenance(study)};
    const std::vector<std::string> classes = rows.distinct("class");
    for (std::size_t c = 0; c < classes.size(); ++c) {
      const StudyRows of_class = rows.where("class", classes[c]);
      Panel panel(class_label(classes[c], 40),
                  linear_axis("base class, as in the store", ends, {.low = 0.0}),
                  linear_axis("distance", distances), {.height = 200});
      // A row of the table is one point; a line ends where its base classes begin again.
      for (const bool support : {false, true}) {
        std::vector<Point> line;
        const auto draw = [&] {
          if (line.size() > 1) {
            if (support)
              panel.line(line, {.colour = 7});
            else
              panel.thin_line(line, series_of_class(c));
          }
          line.clear();
        };
        for (std::size_t r = 0; r < of_class.size(); ++r) {
          if ((of_class.text(r, "row") == "support") != support) continue;
          const double at = place_of.at(of_class.text(r, "base_class"));
          if (!line.empty() && at <= line.back().x) draw();
          line.push_back({at, of_class.number(r, "distance")});
        }
        draw();
      }
      figure.panels.push_back(panel.drawing("Distances of support and queries of " + classes[c] +
                                            " to the base classes"));
    }
    blocks.emplace_back(std::move(figure));
  }
  return blocks;
}

}  // namespace deepvoro
