#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/drawing.hpp"

// A small drawing kit for figures of the report: axes, marks, labels, as SVG. Colours and strokes
// are classes of the style sheet (assets/figure.css), so that they follow light and dark.
namespace deepvoro {

struct Axis {
  std::string label;
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  std::vector<std::pair<double, std::string>> ticks = {};
  bool is_cut = false;  // an accuracy that does not begin at 0: marked as such

  [[nodiscard]] double place(double value) const;  // 0 at `low`, 1 at `high`
};

// Around all values, with a margin and round ticks; limits are never passed.
struct AxisLimits {
  std::optional<double> low = {};
  std::optional<double> high = {};
};
[[nodiscard]] Axis linear_axis(std::string label, std::span<const double> values,
                               AxisLimits limits = {});
// Percent, marked as cut unless it begins at 0.
[[nodiscard]] Axis accuracy_axis(std::string label, std::span<const double> values);
[[nodiscard]] Axis log_axis(std::string label, std::span<const double> values);
[[nodiscard]] Axis bare_axis(double low, double high);

// A series is a colour, and a marker and dashes as second channel.
struct Series {
  std::size_t colour = 0;  // of Okabe and Ito's eight, blue first
  std::size_t marker = 0;
  bool dashed = false;
  bool published = false;  // grey, whatever the colour
};
// Methods keep their colour throughout.
[[nodiscard]] Series series_of_method(const std::string& method);
[[nodiscard]] Series series_of_class(std::size_t index);
inline constexpr Series kOurs{};
inline constexpr Series kPaper{.colour = 0, .marker = 3, .dashed = false, .published = true};

struct Point {
  double x = 0;
  double y = 0;
};

// Of many thin lines whole pixels are enough.
enum class Precision { tenths, pixels };

// A part of the plane, coloured by where a value lies between the lowest and the highest.
struct HeatCell {
  Point low;
  Point high;
  double share = 0;
};

struct PanelLayout {
  double width = 360;
  double height = 260;
  double left = 44;
  double right = 14;
  double top = 44;
  double bottom = 40;
};

class Panel {
 public:
  Panel(std::string title, Axis x, Axis y, PanelLayout layout = {});

  [[nodiscard]] double x(double value) const;
  [[nodiscard]] double y(double value) const;
  [[nodiscard]] const PanelLayout& layout() const { return layout_; }

  void line(std::span<const Point> points, Series series);
  void thin_line(std::span<const Point> points, Series series);
  // Between two curves over the same x.
  void band(std::span<const Point> low, std::span<const Point> high, Series series,
            bool strong = false);
  void marker(Point at, Series series, const std::string& tip, bool hollow = false,
              double radius = 3.6);
  // A mark with its 95% interval along x or y.
  void interval_x(Point at, double ci95, Series series, const std::string& tip);
  void interval_y(Point at, double ci95, Series series, const std::string& tip);
  // Many points; hover tells the row of the figure's CSV with the same number, counted from
  // `first_row`.
  void cloud(std::span<const Point> points, Series series, std::size_t first_row);
  // Cells in the order of the rows of the figure's CSV. The tip names columns of theirs in braces.
  void heat_map(std::span<const HeatCell> cells, const std::string& tip);
  // Many points of which hover says one thing.
  void dots(std::span<const Point> points, Series series, const std::string& tip, double width);
  // Thousands of points, behind what matters.
  void faint_dots(std::span<const Point> points);
  void rule_x(double value, const std::string& label);  // a vertical line, named at its top
  void segment(Point from, Point to, const char* css_class);
  void rectangle(Point low, Point high, const std::string& css_class, const std::string& attributes,
                 const std::string& tip);
  void text(Point at, const std::string& words, const std::string& css_class,
            const char* anchor = "start", double dx = 0, double dy = 0);
  // In pixels.
  void raw(const std::string& svg) { body_ += svg; }
  // Names of lines at their right ends, moved apart where they would touch.
  void end_labels(std::vector<std::pair<double, std::string>> labels,
                  const std::vector<Series>& series);
  // A name at the left of a row of a dot plot.
  void row_label(double at, const std::string& words);

  // The whole; `alt` is its message for those who do not see it.
  [[nodiscard]] Drawing drawing(const std::string& alt) const;

 private:
  [[nodiscard]] std::string axes() const;
  // 1 where all numbers of the x axis have room beside each other.
  [[nodiscard]] std::size_t label_every_tick() const;
  [[nodiscard]] std::string dots_path(std::span<const Point> points) const;
  [[nodiscard]] std::string path_through(std::span<const Point> points, Precision precision) const;

  std::string title_;
  Axis x_;
  Axis y_;
  PanelLayout layout_;
  std::string body_;
};

// Room at the right of a panel for labels of lines.
[[nodiscard]] double label_room(std::span<const std::string> labels);
// How wide a text is about, in pixels of a panel.
[[nodiscard]] double text_width(const std::string& text);
// Cut with an ellipsis so that it fits.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t most_characters);

// A strip that explains the colours of a heat map.
[[nodiscard]] Drawing colour_bar(double low, double high, const std::string& label);
// The colour of a share from 0 to 1, #rrggbb.
[[nodiscard]] std::string viridis(double share);

}  // namespace deepvoro
