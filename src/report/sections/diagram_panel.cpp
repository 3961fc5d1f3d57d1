#include "report/sections/diagram_panel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/base64.hpp"
#include "deepvoro/core/error.hpp"
#include "report/cells.hpp"
#include "report/plot.hpp"
#include "report/sections/sections.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kMostPixels = 400;  // along a side

std::vector<std::uint8_t> cells_of(const StudyRows& rows, std::size_t row, std::size_t width,
                                   std::size_t height) {
  const auto bytes = from_base64(rows.text(row, "cells"));
  if (width < 1 || height < 1 || width > kMostPixels || height > kMostPixels || !bytes ||
      bytes->size() != width * height)
    throw data_error(fmt::format(
        "{}: row {} has cells that are not width x height bytes in base64, at most {} on a side",
        rows.table().where, row, kMostPixels));
  std::vector<std::uint8_t> cells;
  for (const std::byte value : *bytes) cells.push_back(std::to_integer<std::uint8_t>(value));
  return cells;
}

std::string cell_layers(const std::vector<std::uint8_t>& cells, std::size_t width,
                        std::size_t height, const PanelLayout& layout,
                        const std::vector<std::size_t>& colours) {
  const double sx = (layout.width - layout.left - layout.right) / static_cast<double>(width);
  const double sy = (layout.height - layout.top - layout.bottom) / static_cast<double>(height);
  std::string tints;
  std::string borders;
  for (const CellOutline& outline : cell_outlines(cells, width, height)) {
    std::string path;
    for (const auto& loop : outline.loops) {
      for (std::size_t i = 0; i < loop.size(); ++i)
        path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", layout.left + sx * loop[i].first,
                            layout.top + sy * loop[i].second);
      path += "Z";
    }
    // Tints reach under their neighbours, so that there is no seam.
    tints += fmt::format("<path class=\"tint k{}\" d=\"{}\"/>\n", colours[outline.label], path);
    borders += path;
  }
  return tints + fmt::format("<path class=\"edge\" d=\"{}\"/>\n", borders);
}

// Colours of classes whose cells touch differ, also where there are more classes than colours.
std::vector<std::size_t> colours_of_cells(const std::vector<std::uint8_t>& cells,
                                          std::size_t width) {
  constexpr std::size_t colours = 8;
  const std::size_t classes = 1 + std::size_t{*std::ranges::max_element(cells)};
  std::vector<std::set<std::size_t>> neighbours(classes);
  const auto touch = [&](std::size_t a, std::size_t b) {
    if (cells[a] == cells[b]) return;
    neighbours[cells[a]].insert(cells[b]);
    neighbours[cells[b]].insert(cells[a]);
  };
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if ((i + 1) % width != 0) touch(i, i + 1);
    if (i + width < cells.size()) touch(i, i + width);
  }
  std::vector<std::size_t> chosen;
  for (std::size_t c = 0; c < classes; ++c) {
    const auto is_taken = [&](std::size_t colour) {
      return std::ranges::any_of(
          neighbours[c], [&](std::size_t other) { return other < c && chosen[other] == colour; });
    };
    std::size_t colour = c % colours;
    for (std::size_t i = 1; i < colours && is_taken(colour); ++i) colour = (c + i) % colours;
    chosen.push_back(colour);
  }
  return chosen;
}

struct Mark {
  const char* role;
  const char* words;  // in a tip, behind the name of the class
};
constexpr std::array kMarks = std::to_array<Mark>({{"query", "query"},
                                                   {"query-wrong", "query, misclassified"},
                                                   {"support", "support"},
                                                   {"center", "center"}});

struct Box {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

double area_of(const Box& box) {
  return std::max(0.0, box.right - box.left) * std::max(0.0, box.bottom - box.top);
}

double overlap(const Box& a, const Box& b) {
  return area_of({std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right),
                  std::min(a.bottom, b.bottom)});
}

// Where the name of a point can stand, the usual place first; pixels from the point to the
// baseline.
struct NamePlace {
  const char* anchor;
  double dx;
  double dy;
};
constexpr std::array kNamePlaces = std::to_array<NamePlace>({{"middle", 0, -10},
                                                             {"middle", 0, 20},
                                                             {"start", 9, 4},
                                                             {"end", -9, 4},
                                                             {"start", 5, -10},
                                                             {"end", -5, -10},
                                                             {"start", 5, 20},
                                                             {"end", -5, 20}});

Box box_of_name(const NamePlace& place, double x, double y, double width) {
  constexpr double ascent = 11;
  constexpr double descent = 3;
  const std::string_view anchor = place.anchor;
  const double left = x + place.dx - (anchor == "middle" ? width / 2 : anchor == "end" ? width : 0);
  return {left, y + place.dy - ascent, left + width, y + place.dy + descent};
}

// The points of one panel of a diagram, over its cells.
class PanelPoints {
 public:
  PanelPoints(Panel& panel, const StudyRows& points, std::vector<std::size_t> colours)
      : panel_(panel), points_(points), colours_(std::move(colours)) {}

  void draw() {
    for (const StudyRows& samples : points_.where("role", "sample").split_by({"class"}))
      draw_samples(samples);
    for (const Mark& mark : kMarks) {
      const StudyRows of_role = points_.where("role", mark.role);
      for (std::size_t r = 0; r < of_role.size(); ++r) draw(of_role, r, mark);
    }
    // Names over everything else.
    const StudyRows named = points_.where("role", "support");
    if (named.size() > 0 && named.size() <= kMostNames) draw_names(named);
    const StudyRows centers = points_.where("role", "center");
    if (named.size() == 0 && centers.size() <= kMostNames) draw_names(centers);
  }

 private:
  static constexpr std::size_t kMostNames = 12;
  static constexpr double kBoldWider = 1.15;
  // A name that is cut off is worse than one that hides something.
  static constexpr double kOutsideWeight = 10;

  [[nodiscard]] std::size_t colour_of(const StudyRows& rows, std::size_t row) const {
    const std::size_t of_class = as_count(rows.maybe(row, "class").value_or(0));
    return of_class < colours_.size() ? colours_[of_class] : of_class % 8;
  }

  // Of base classes there are hundreds.
  void draw_samples(const StudyRows& rows) {
    std::vector<Point> points;
    for (std::size_t r = 0; r < rows.size(); ++r)
      points.push_back({rows.number(r, "x"), rows.number(r, "y")});
    panel_.dots(points, {.colour = colour_of(rows, 0)},
                fmt::format("{} sample", rows.text(0, "class_name")), 4);
  }

  void draw(const StudyRows& rows, std::size_t row, const Mark& mark) {
    const std::string_view role = mark.role;
    const Point at{rows.number(row, "x"), rows.number(row, "y")};
    const std::string tip = fmt::format("{} {}", rows.text(row, "class_name"), mark.words);
    const std::size_t colour = colour_of(rows, row);
    if (role == "center") {
      panel_.raw(fmt::format("<path class=\"cross\" d=\"M{:.1f} {:.1f}h10m-5 -5v10\"/>\n",
                             panel_.x(at.x) - 5, panel_.y(at.y)));
    } else {
      if (role == "query-wrong")
        panel_.raw(fmt::format("<circle class=\"ring\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6.5\"/>\n",
                               panel_.x(at.x), panel_.y(at.y)));
      const bool is_query = role != "support";
      panel_.marker(at, {.colour = colour, .marker = is_query ? 0U : 1U}, tip, is_query,
                    is_query ? 3.0 : 5.0);
    }
  }

  void draw_names(const StudyRows& rows) {
    std::vector<Box> taken;
    for (std::size_t r = 0; r < points_.size(); ++r) {
      const std::string role = points_.text(r, "role");
      const double half = role == "support" || role == "center" ? 5 : 3;
      const double x = panel_.x(points_.number(r, "x"));
      const double y = panel_.y(points_.number(r, "y"));
      taken.push_back({x - half, y - half, x + half, y + half});
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::string name = class_label(rows.text(r, "class_name"), 16);
      const Point at{rows.number(r, "x"), rows.number(r, "y")};
      const double width = kBoldWider * text_width(name);
      const NamePlace& place = freest_place(panel_.x(at.x), panel_.y(at.y), width, taken);
      taken.push_back(box_of_name(place, panel_.x(at.x), panel_.y(at.y), width));
      panel_.text(at, name, fmt::format("lb halo s{}", colour_of(rows, r)), place.anchor, place.dx,
                  place.dy);
    }
  }

  // Where a name hides least of the marks and names that are there already.
  [[nodiscard]] const NamePlace& freest_place(double x, double y, double width,
                                              const std::vector<Box>& taken) const {
    const PanelLayout& layout = panel_.layout();
    const Box inside{layout.left, layout.top, layout.width - layout.right,
                     layout.height - layout.bottom};
    const auto hidden = [&](const NamePlace& place) {
      const Box name = box_of_name(place, x, y, width);
      double area = kOutsideWeight * (area_of(name) - overlap(name, inside));
      for (const Box& other : taken) area += overlap(name, other);
      return area;
    };
    return *std::ranges::min_element(kNamePlaces, {}, hidden);
  }

  Panel& panel_;
  const StudyRows& points_;
  std::vector<std::size_t> colours_;
};

}  // namespace

Drawing diagram_panel(const StudyRows& panels, std::size_t row, const StudyRows& points,
                      const std::string& title) {
  const std::size_t width = as_count(panels.number(row, "width"));
  const std::size_t height = as_count(panels.number(row, "height"));
  const std::vector<std::uint8_t> cells = cells_of(panels, row, width, height);
  const double ratio = static_cast<double>(height) / static_cast<double>(width);
  PanelLayout layout{.width = 360, .height = 0, .left = 2, .right = 2, .top = 24, .bottom = 4};
  layout.height = layout.top + layout.bottom + 356 * std::clamp(ratio, 0.25, 4.0);
  Panel panel(title, bare_axis(panels.number(row, "x0"), panels.number(row, "x1")),
              bare_axis(panels.number(row, "y0"), panels.number(row, "y1")), layout);
  const std::vector<std::size_t> colours = colours_of_cells(cells, width);
  panel.raw(cell_layers(cells, width, height, layout, colours));
  PanelPoints(panel, points, colours).draw();
  return panel.drawing(title + ": cells of the classes in the plane");
}

}  // namespace deepvoro
