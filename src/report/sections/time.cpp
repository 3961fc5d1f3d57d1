#include <fmt/format.h>

#include <algorithm>

#include "report/paper_numbers.hpp"
#include "report/plot.hpp"
#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

constexpr double kPaperEpisodes = 2000;

// Seconds of one member for as many episodes as the paper's: what can be compared, whatever the
// number of views a store has.
struct Timing {
  std::string method;
  std::string label;
  std::size_t members = 1;
  double seconds = 0;
  double per_member = 0;
  std::optional<double> paper_minutes;
  std::size_t paper_members = 1;

  [[nodiscard]] std::optional<double> paper_per_member() const {
    if (!paper_minutes) return std::nullopt;
    return 60 * *paper_minutes / static_cast<double>(paper_members);
  }
};

Timing timing(const StudyRows& rows, std::size_t row) {
  Timing one{.method = rows.text(row, "method"), .label = rows.text(row, "method")};
  one.members = std::max<std::size_t>(1, as_count(rows.maybe(row, "members").value_or(1)));
  one.seconds = rows.number(row, "seconds");
  one.per_member = one.seconds / static_cast<double>(one.members) * kPaperEpisodes /
                   std::max(1.0, rows.maybe(row, "episodes").value_or(kPaperEpisodes));
  one.paper_members = std::max<std::size_t>(
      1, as_count(rows.maybe(row, "paper_members").value_or(static_cast<double>(one.members))));
  one.paper_minutes = paper_minutes(rows.text(row, "method"), one.paper_members);
  if (one.members > 1) one.label += fmt::format(", {} members", one.members);
  return one;
}

ReportTable time_table(const StudyRows& rows, const std::vector<Timing>& timings,
                       const std::string& id) {
  ReportTable table{.id = id,
                    .title = joined({"Running times", rows.text(0, "store")}),
                    .columns = {{.label = "method", .numeric = false},
                                {"members"},
                                {"shots"},
                                {"time", {"seconds"}},
                                {"episodes"},
                                {"threads"},
                                {"per member", {"seconds_per_member"}},
                                {"paper", {"paper_minutes"}},
                                {"its members", {"paper_members"}},
                                {"times faster", {"times_faster"}}}};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Timing& one = timings[r];
    TableRow row{.cells = {{.text = rows.text(r, "method")},
                           {.text = fmt::to_string(one.members)},
                           {.text = rows.text(r, "shots")},
                           {.text = duration_text(one.seconds), .values = {one.seconds}},
                           {.text = rows.text(r, "episodes")},
                           {.text = rows.text(r, "threads")},
                           {.text = duration_text(one.per_member), .values = {one.per_member}}}};
    if (const auto paper = one.paper_per_member()) {
      row.cells.push_back({.text = fmt::format("{:.2f} min", *one.paper_minutes),
                           .values = {*one.paper_minutes},
                           .published = true});
      row.cells.push_back({.text = fmt::to_string(one.paper_members), .published = true});
      const double faster = *paper / one.per_member;
      row.cells.push_back(
          {.text = faster < 10 ? fmt::format("{:.1f}", faster) : fmt::format("{:.0f}", faster),
           .values = {faster}});
    } else {
      row.cells.resize(table.columns.size(), {.text = "–"});
    }
    table.rows.push_back(std::move(row));
  }
  table.note =
      "Per member and times faster are for one member and 2000 episodes. The paper's times, grey, "
      "are those of NumPy on 20 cores";
  return table;
}

Drawing time_panel(const StudyRows& rows, const std::vector<Timing>& timings,
                   const std::string& title) {
  std::vector<double> values;
  double widest = 60;
  for (const Timing& one : timings) {
    values.push_back(one.per_member);
    if (const auto paper = one.paper_per_member()) values.push_back(*paper);
    widest = std::max(widest, text_width(shortened(one.label, 24)));
  }
  const auto count = static_cast<double>(timings.size());
  const Axis x = log_axis("seconds per member for 2000 episodes", values);
  Panel panel(joined({rows.text(0, "store"), shots_text(rows.text(0, "shots"))}), x,
              bare_axis(0, count),
              {.width = 360,
               .height = 74 + 26 * count,
               .left = widest + 14,
               .right = 20,
               .top = 26,
               .bottom = 44});
  for (const auto& tick : x.ticks) panel.segment({tick.first, 0}, {tick.first, count}, "gr");
  for (std::size_t r = 0; r < timings.size(); ++r) {
    const Timing& one = timings[r];
    const double at = count - 0.5 - static_cast<double>(r);
    panel.row_label(at, shortened(one.label, 24));
    if (const auto paper = one.paper_per_member()) {
      panel.segment({one.per_member, at}, {*paper, at}, "stem");
      panel.marker({*paper, at}, kPaper,
                   fmt::format("{}, the paper: {} per member", one.label, duration_text(*paper)));
    }
    panel.marker({one.per_member, at}, kOurs,
                 fmt::format("{}, here: {} per member, {} in all", one.label,
                             duration_text(one.per_member), duration_text(one.seconds)));
  }
  return panel.drawing(title);
}

// Said of what has the most members.
std::string time_sentence(const std::vector<Timing>& timings) {
  const Timing* largest = nullptr;
  for (const Timing& one : timings)
    if (one.paper_minutes && (largest == nullptr || one.members > largest->members)) largest = &one;
  if (largest == nullptr) return "What each method costs";
  return fmt::format("A member of {} takes {} here, {} in the paper", largest->method,
                     duration_text(largest->per_member),
                     duration_text(*largest->paper_per_member()));
}

std::vector<Timing> timings_of(const StudyRows& rows) {
  std::vector<Timing> timings;
  for (std::size_t r = 0; r < rows.size(); ++r) timings.push_back(timing(rows, r));
  return timings;
}

}  // namespace

std::vector<Block> time_blocks(const RecordedStudy& study) {
  const RecordedTable* table = study.table("time");
  if (table == nullptr) return plain_blocks(study);
  std::vector<Block> blocks;
  std::size_t number = 0;
  for (const StudyRows& rows : StudyRows(*table).split_by({"store"})) {
    ++number;
    const std::vector<Timing> timings = timings_of(rows);
    Figure figure{.id = fmt::format("time-figure-{}", number),
                  .title = time_sentence(timings),
                  .panels = {},
                  .note = "Blue: here. Grey diamonds: the paper. The axis is logarithmic.",
                  .csv = rows.csv(),
                  .made_by = provenance(study)};
    for (const StudyRows& of_shots : rows.split_by({"shots"}))
      figure.panels.push_back(time_panel(of_shots, timings_of(of_shots), figure.title));
    const std::string episodes = rows.text(0, "episodes");
    if (episodes != "2000" && !episodes.empty())
      figure.note += fmt::format(
          " Measured with {} episodes and scaled to 2000, so what is done once counts for more.",
          episodes);
    blocks.emplace_back(std::move(figure));
    blocks.emplace_back(
        ShownTable{time_table(rows, timings, fmt::format("time-{}", number)), provenance(study)});
  }
  return blocks;
}

}  // namespace deepvoro
