#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

#include "report/plot.hpp"
#include "report/sections/result_groups.hpp"
#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kShownClasses = 30;
constexpr std::size_t kShownPairs = 12;
constexpr std::size_t kShownCells = 800;  // of a confusion matrix: the others are hardly seen

double accuracy_of(const Answers::OfClass& of_class) {
  return of_class.asked == 0
             ? 0
             : 100 * static_cast<double>(of_class.right) / static_cast<double>(of_class.asked);
}

// Classes that were asked for, the hardest first.
std::vector<std::size_t> by_accuracy(const Answers& answers) {
  std::vector<std::size_t> order;
  for (std::size_t c = 0; c < answers.classes.size(); ++c)
    if (answers.classes[c].asked > 0) order.push_back(c);
  std::ranges::stable_sort(order, {},
                           [&](std::size_t c) { return accuracy_of(answers.classes[c]); });
  return order;
}

Figure class_figure(const Answers& answers, const std::string& id, const std::string& context) {
  const std::vector<std::size_t> order = by_accuracy(answers);
  Figure figure{.id = id, .title = {}, .panels = {}};
  CsvText csv({"class", "accuracy", "ci95", "queries"});
  std::vector<ComparedRow> rows;
  for (const std::size_t c : order) {
    const Answers::OfClass& one = answers.classes[c];
    csv.add({one.name, exact(accuracy_of(one)), exact(one.ci95), fmt::to_string(one.asked)});
    rows.push_back({.label = one.name, .accuracy = accuracy_of(one), .ci95 = one.ci95});
  }
  figure.title = fmt::format("{} is the hardest class ({:.1f} %), {} the easiest ({:.1f} %)",
                             rows.front().label, rows.front().accuracy, rows.back().label,
                             rows.back().accuracy);
  const bool is_cut = rows.size() > kShownClasses;
  const auto half = static_cast<std::ptrdiff_t>(kShownClasses / 2);
  const std::vector<ComparedRow> hardest(rows.begin(), is_cut ? rows.begin() + half : rows.end());
  const std::vector<double> ends{rows.front().accuracy - rows.front().ci95,
                                 rows.back().accuracy + rows.back().ci95};
  figure.panels.push_back(
      dot_plot(is_cut ? fmt::format("the {} hardest, {}", hardest.size(), context) : context,
               hardest, fmt::format("Accuracy of the hardest classes, {}", context), ends));
  if (is_cut) {
    const std::vector<ComparedRow> easiest(rows.end() - half, rows.end());
    figure.panels.push_back(dot_plot(fmt::format("the {} easiest", easiest.size()), easiest,
                                     "Accuracy of the easiest classes", ends));
    figure.note = fmt::format("All {} classes are in the table.", rows.size());
  }
  figure.csv = csv.text();
  return figure;
}

struct Pair {
  std::size_t of;
  std::size_t taken_for;
  std::uint64_t count;
  double percent;  // of the queries of the class
};

std::vector<Pair> mistakes(const Answers& answers) {
  const std::size_t classes = answers.classes.size();
  std::vector<Pair> pairs;
  for (std::size_t of = 0; of < classes; ++of)
    for (std::size_t to = 0; to < classes; ++to) {
      const std::uint64_t count = answers.confusion[of * classes + to];
      if (of == to || count == 0 || answers.classes[of].asked == 0) continue;
      pairs.push_back(
          {of, to, count,
           100 * static_cast<double>(count) / static_cast<double>(answers.classes[of].asked)});
    }
  std::ranges::stable_sort(pairs, std::greater<>(), &Pair::percent);
  return pairs;
}

Drawing matrix_panel(const Answers& answers, const std::vector<Pair>& pairs) {
  const std::size_t classes = answers.classes.size();
  const auto count = static_cast<double>(classes);
  const bool is_labelled = classes <= 24;
  const double left = is_labelled ? 110 : 24;
  constexpr double side = 330;
  Panel panel("taken for (columns), by class (rows)", bare_axis(0, count), bare_axis(0, count),
              {.width = left + side + 10,
               .height = side + (is_labelled ? 44 : 40),
               .left = left,
               .right = 10,
               .top = 30,
               .bottom = 14});
  panel.rectangle({0, 0}, {count, count}, "mat", "", "");
  const double most =
      pairs.empty() ? 1 : std::ranges::max_element(pairs, {}, &Pair::percent)->percent;
  for (std::size_t c = 0; c < classes; ++c) {
    const double at = count - 1 - static_cast<double>(c);
    panel.rectangle({static_cast<double>(c), at}, {static_cast<double>(c) + 1, at + 1}, "dia", "",
                    fmt::format("{}: {:.1f} % right", answers.classes[c].name,
                                accuracy_of(answers.classes[c])));
    if (is_labelled) panel.row_label(at + 0.5, shortened(answers.classes[c].name, 15));
  }
  for (const Pair& pair : std::span(pairs).first(std::min(pairs.size(), kShownCells))) {
    const double row = count - 1 - static_cast<double>(pair.of);
    const auto column = static_cast<double>(pair.taken_for);
    panel.rectangle({column, row}, {column + 1, row + 1}, "hm",
                    fmt::format(" fill=\"{}\"", viridis(pair.percent / most)),
                    fmt::format("{} taken for {}: {:.1f} %", answers.classes[pair.of].name,
                                answers.classes[pair.taken_for].name, pair.percent));
  }
  return panel.drawing(fmt::format("Confusion matrix of {} classes", classes));
}

Figure confusion_figure(const Answers& answers, const std::string& id) {
  const std::vector<Pair> pairs = mistakes(answers);
  Figure figure{.id = id, .title = "No query was taken for another class", .panels = {}};
  CsvText csv({"class", "taken_for", "queries", "percent_of_class"});
  for (const Pair& pair : pairs)
    csv.add({answers.classes[pair.of].name, answers.classes[pair.taken_for].name,
             fmt::to_string(pair.count), exact(pair.percent)});
  figure.csv = csv.text();
  figure.panels.push_back(matrix_panel(answers, pairs));
  if (pairs.empty()) return figure;
  const Pair& first = pairs.front();
  figure.title = fmt::format("{} is most often taken for {} ({:.1f} % of its queries)",
                             answers.classes[first.of].name, answers.classes[first.taken_for].name,
                             first.percent);
  const std::size_t shown = std::min(kShownPairs, pairs.size());
  std::vector<double> values{0};
  double widest = 60;
  for (std::size_t i = 0; i < shown; ++i) {
    values.push_back(pairs[i].percent);
    widest = std::max(widest, text_width(shortened(answers.classes[pairs[i].of].name, 16)));
  }
  const auto rows = static_cast<double>(shown);
  const Axis x = linear_axis("share of the class's queries, %", values, {.low = 0.0});
  Panel panel("most frequent mistakes", x, bare_axis(0, rows),
              {.width = 360,
               .height = 84 + 24 * rows,
               .left = widest + 12,
               .right = 104,
               .top = 30,
               .bottom = 40});
  for (std::size_t i = 0; i < shown; ++i) {
    const double at = rows - 0.5 - static_cast<double>(i);
    const std::string& of = answers.classes[pairs[i].of].name;
    const std::string& to = answers.classes[pairs[i].taken_for].name;
    panel.row_label(at, shortened(of, 16));
    panel.segment({0, at}, {pairs[i].percent, at}, "stem");
    panel.marker({pairs[i].percent, at}, kOurs,
                 fmt::format("{} taken for {}: {} queries, {:.1f} %", of, to, pairs[i].count,
                             pairs[i].percent));
    panel.text({pairs[i].percent, at}, "→ " + shortened(to, 13), "sm", "start", 7, 4);
  }
  figure.panels.push_back(panel.drawing("The most frequent mistakes"));
  figure.note =
      "Colour is the share of a class's queries, from dark to light; right answers, on the "
      "diagonal, are grey. An episode shows only some of the classes together, so a share says how "
      "often a mistake happens, not how likely it is where both are present.";
  if (pairs.size() > kShownCells)
    figure.note += fmt::format(" The {} most frequent mistakes are drawn.", kShownCells);
  return figure;
}

Gallery hardest_gallery(const Answers& answers, const std::string& id,
                        const Thumbnails& thumbnails) {
  Gallery gallery{.id = id, .title = {}};
  CsvText csv({"class", "place", "asked", "wrong", "taken_for"});
  for (const Answers::HardQuery& query : answers.hardest) {
    const Answers::OfClass& of_class = answers.classes[query.of_class];
    const std::string& taken_for = answers.classes[query.taken_for].name;
    csv.add({of_class.name, fmt::to_string(query.place), fmt::to_string(query.asked),
             fmt::to_string(query.wrong), taken_for});
    gallery.items.push_back({.image = thumbnails ? thumbnails(of_class, query.place) : "",
                             .title = fmt::format("{} #{}", of_class.name, query.place),
                             .text = fmt::format("wrong {} of {} times, mostly {}", query.wrong,
                                                 query.asked, taken_for)});
  }
  const Answers::HardQuery& first = answers.hardest.front();
  gallery.title =
      fmt::format("The hardest sample, {} #{}, is wrong {} of {} times",
                  answers.classes[first.of_class].name, first.place, first.wrong, first.asked);
  gallery.note =
      "Samples by the lower end of the 95% interval of their share of wrong answers; # counts the "
      "samples of a class in the order of the store, from 0.";
  gallery.csv = csv.text();
  return gallery;
}

}  // namespace

std::vector<Block> failure_blocks(const std::vector<ReportedResult>& results,
                                  const Thumbnails& thumbnails) {
  std::vector<Block> blocks;
  const std::vector<ResultGroup> groups = group_results(results);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const ResultGroup& group = groups[g];
    // The best method at the fewest shots makes the mistakes that are worth a look.
    const ReportedResult* best = group.best(*group.shots().begin());
    if (!best->answers || by_accuracy(*best->answers).empty()) continue;
    const std::string suffix = groups.size() > 1 ? fmt::format("-{}", g + 1) : "";
    const std::string context = fmt::format("{}, {}", group.label(*best),
                                            shots_text(fmt::to_string(best->recorded.shape.shots)));
    Figure classes = class_figure(*best->answers, "classes" + suffix, context);
    classes.made_by = group.made_by();
    blocks.emplace_back(std::move(classes));
    if (!best->answers->confusion.empty()) {
      Figure confusion = confusion_figure(*best->answers, "confusion" + suffix);
      confusion.made_by = group.made_by();
      blocks.emplace_back(std::move(confusion));
    }
    if (!best->answers->hardest.empty()) {
      Gallery gallery = hardest_gallery(*best->answers, "hardest" + suffix, thumbnails);
      gallery.made_by = group.made_by();
      blocks.emplace_back(std::move(gallery));
    }
  }
  return blocks;
}

}  // namespace deepvoro
