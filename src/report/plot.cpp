#include "report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "report/escape.hpp"

namespace deepvoro {
namespace {

// Pixels, to a tenth, without a useless ".0".
std::string px(double value) {
  std::string text =
      fmt::format("{:.1f}", std::isfinite(value) ? std::clamp(value, -9999.0, 9999.0) : 0);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string tip_attribute(const std::string& tip) {
  return tip.empty() ? "" : fmt::format(" data-t=\"{}\"", html(tip));
}

std::string classes(const char* kind, Series series) {
  std::string text = fmt::format(
      "{} {}", kind, series.published ? "paper" : fmt::format("s{}", series.colour % 8));
  if (series.dashed) text += " dash";
  return text;
}

double nice_step(double range, int about) {
  const double raw = range / about;
  const double magnitude = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * magnitude) return factor * magnitude;
  return 10 * magnitude;
}

std::string tick_text(double value, double step) {
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 6);
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (std::strtod(text.c_str(), nullptr) == 0) text = "0";
  if (text.front() == '-') text.replace(0, 1, "−");
  return text;
}

std::pair<double, double> extent(std::span<const double> values) {
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  for (const double value : values)
    if (std::isfinite(value) && std::abs(value) < 1e12) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  return low <= high ? std::pair(low, high) : std::pair(0.0, 1.0);
}

// The shape of a marker around a point: its element and what says where it is.
std::pair<const char*, std::string> marker_shape(double x, double y, std::size_t marker, double r) {
  const auto points = [&](std::initializer_list<std::pair<double, double>> corners) {
    std::string path;
    for (const auto& [dx, dy] : corners)
      path += fmt::format("{}{} {}", path.empty() ? "M" : "L", px(x + dx * r), px(y + dy * r));
    return std::pair("path", fmt::format("d=\"{}Z\"", path));
  };
  switch (marker % 5) {
    case 1:
      return points({{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}});
    case 2:
      return points({{0, -1.2}, {1.1, .8}, {-1.1, .8}});
    case 3:
      return points({{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}});
    case 4:
      return points({{0, 1.2}, {1.1, -.8}, {-1.1, -.8}});
    default:
      return {"circle", fmt::format("cx=\"{}\" cy=\"{}\" r=\"{}\"", px(x), px(y), px(r))};
  }
}

struct MethodSeries {
  const char* method;
  Series series;
};
// What is compared most often is farthest apart in colour and marker.
constexpr std::array kMethods = std::to_array<MethodSeries>({
    {"plda", {0, 0}},
    {"deepvoro++", {3, 3}},
    {"deepvoro", {1, 2}},
    {"deepvoro--", {6, 4}},
    {"vd", {7, 1}},
    {"dc", {2, 0, true}},
    {"s2m2", {4, 1, true}},
    {"power-lr", {5, 2, true}},
    {"voronoi-lr", {5, 3}},
    {"simpleshot", {2, 4}},
    {"pt-ncm", {4, 3}},
    {"vd+power-lr", {6, 0, true}},
    {"vd+voronoi-lr", {6, 1}},
});

}  // namespace

double Axis::place(double value) const {
  const auto scaled = [&](double v) { return logarithmic ? std::log(std::max(v, 1e-300)) : v; };
  return (scaled(value) - scaled(low)) / (scaled(high) - scaled(low));
}

Axis linear_axis(std::string label, std::span<const double> values, AxisLimits limits) {
  auto [low, high] = extent(values);
  if (limits.low) low = std::max(low, *limits.low);
  if (limits.high) high = std::min(high, *limits.high);
  const double margin = high > low ? 0.06 * (high - low) : std::max(0.5, std::abs(low) * 0.05);
  low -= margin;
  high += margin;
  if (limits.low) low = std::max(low, *limits.low);
  if (limits.high) high = std::min(high, *limits.high);
  if (!(high > low)) high = low + 1;
  Axis axis{.label = std::move(label), .low = low, .high = high};
  const double step = nice_step(high - low, 6);
  for (double tick = std::ceil(low / step - 1e-9) * step; tick <= high + 1e-9 * step; tick += step)
    axis.ticks.emplace_back(tick, tick_text(tick, step));
  return axis;
}

Axis accuracy_axis(std::string label, std::span<const double> values) {
  Axis axis = linear_axis(std::move(label), values, {.low = 0.0, .high = 100.0});
  axis.is_cut = axis.low > 0;
  return axis;
}

Axis log_axis(std::string label, std::span<const double> values) {
  std::vector<double> positive;
  std::ranges::copy_if(values, std::back_inserter(positive), [](double v) { return v > 0; });
  auto [low, high] = extent(positive);
  if (!(low > 0)) low = 1;
  if (!(high > low)) high = low * 10;
  const double margin = std::pow(high / low, 0.04);
  Axis axis{
      .label = std::move(label), .low = low / margin, .high = high * margin, .logarithmic = true};
  const bool is_short = high / low < 300;
  std::vector<double> found;
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= axis.high; decade *= 10)
    for (const double factor : {1.0, 2.0, 5.0})
      if ((factor == 1 || is_short) && decade * factor >= axis.low && decade * factor <= axis.high)
        found.push_back(decade * factor);
  // Ten decades have no room for ten numbers.
  const std::size_t every = found.size() > 8 || (found.size() > 6 && !is_short) ? 2 : 1;
  for (std::size_t i = 0; i < found.size(); i += every) {
    const double tick = found[i];
    axis.ticks.emplace_back(
        tick, tick >= 10000 ? fmt::format("{:.0f}k", tick / 1000) : fmt::format("{:g}", tick));
  }
  return axis;
}

Axis bare_axis(double low, double high) {
  return {.label = {}, .low = low, .high = high > low ? high : low + 1};
}

Series series_of_method(const std::string& method) {
  for (const MethodSeries& known : kMethods)
    if (method == known.method) return known.series;
  const std::size_t number = std::accumulate(
      method.begin(), method.end(), std::size_t{0},
      [](std::size_t sum, char c) { return sum * 31 + static_cast<unsigned char>(c); });
  return {.colour = number % 8, .marker = number / 8 % 5};
}

Series series_of_class(std::size_t index) {
  return {.colour = index % 8, .marker = index % 5};
}

Panel::Panel(std::string title, Axis x, Axis y, PanelLayout layout)
    : title_(std::move(title)), x_(std::move(x)), y_(std::move(y)), layout_(layout) {}

double Panel::x(double value) const {
  return layout_.left + x_.place(value) * (layout_.width - layout_.left - layout_.right);
}

double Panel::y(double value) const {
  return layout_.height - layout_.bottom -
         y_.place(value) * (layout_.height - layout_.top - layout_.bottom);
}

std::string Panel::path_through(std::span<const Point> points, Precision precision) const {
  const double steps = precision == Precision::tenths ? 10 : 1;
  const auto step_of = [&](double pixels) {
    return std::llround(steps * (std::isfinite(pixels) ? std::clamp(pixels, -9999.0, 9999.0) : 0));
  };
  const auto number = [&](std::int64_t in_steps) {
    return fmt::format("{:g}", static_cast<double>(in_steps) / steps);
  };
  std::string path;
  std::int64_t last_x = 0;
  std::int64_t last_y = 0;
  for (const Point& point : points) {
    const std::int64_t to_x = step_of(x(point.x));
    const std::int64_t to_y = step_of(y(point.y));
    const std::string down = number(to_y - last_y);
    path += fmt::format("{}{}{}{}", path.empty() ? "M" : "l", number(to_x - last_x),
                        down.starts_with('-') ? "" : " ", down);
    last_x = to_x;
    last_y = to_y;
  }
  return path;
}

void Panel::line(std::span<const Point> points, Series series) {
  body_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", classes("ln", series),
                       path_through(points, Precision::tenths));
}

void Panel::thin_line(std::span<const Point> points, Series series) {
  body_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", classes("thin", series),
                       path_through(points, Precision::pixels));
}

void Panel::band(std::span<const Point> low, std::span<const Point> high, Series series,
                 bool strong) {
  std::vector<Point> around(low.begin(), low.end());
  around.insert(around.end(), high.rbegin(), high.rend());
  series.dashed = false;
  body_ +=
      fmt::format("<path class=\"{}\" d=\"{}Z\"/>\n", classes(strong ? "bd strong" : "bd", series),
                  path_through(around, Precision::tenths));
}

void Panel::marker(Point at, Series series, const std::string& tip, bool hollow, double radius) {
  series.dashed = false;
  const auto [element, shape] = marker_shape(x(at.x), y(at.y), series.marker, radius);
  body_ += fmt::format("<{} class=\"{}\"{} {}/>\n", element,
                       classes(hollow ? "pt ho" : "pt", series), tip_attribute(tip), shape);
}

void Panel::interval_x(Point at, double ci95, Series series, const std::string& tip) {
  Series solid = series;
  solid.dashed = false;
  body_ += fmt::format("<path class=\"{}\" d=\"M{} {}H{}\"/>\n", classes("iv", solid),
                       px(x(at.x - ci95)), px(y(at.y)), px(x(at.x + ci95)));
  marker(at, series, tip);
}

void Panel::interval_y(Point at, double ci95, Series series, const std::string& tip) {
  Series solid = series;
  solid.dashed = false;
  body_ += fmt::format("<path class=\"{}\" d=\"M{} {}V{}\"/>\n", classes("iv", solid), px(x(at.x)),
                       px(y(at.y - ci95)), px(y(at.y + ci95)));
  marker(at, series, tip);
}

void Panel::cloud(std::span<const Point> points, Series series, std::size_t first_row) {
  body_ += fmt::format("<g class=\"{}\" data-rows=\"{}\">", classes("cl", series), first_row);
  for (const Point& point : points)
    body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"2.6\"/>", px(x(point.x)), px(y(point.y)));
  body_ += "</g>\n";
}

void Panel::heat_map(std::span<const HeatCell> cells, const std::string& tip) {
  // Cells reach under the next ones, or there would be lines between them.
  constexpr double seam = 0.4;
  body_ += fmt::format("<g class=\"hm\" data-rows=\"0\" data-say=\"{}\">", html(tip));
  for (const HeatCell& cell : cells)
    body_ += fmt::format("<path fill=\"{}\" d=\"M{} {}h{}v{}H{}z\"/>", viridis(cell.share),
                         px(x(cell.low.x)), px(y(cell.high.y)),
                         px(x(cell.high.x) - x(cell.low.x) + seam),
                         px(y(cell.low.y) - y(cell.high.y) + seam), px(x(cell.low.x)));
  body_ += "</g>\n";
}

// Each a line of no length, with round ends.
std::string Panel::dots_path(std::span<const Point> points) const {
  std::string path = path_through(points, Precision::tenths);
  for (std::size_t at = 1; (at = path.find('l', at)) != std::string::npos; at += 3)
    path.replace(at, 1, "h0m");
  return path + "h0";
}

void Panel::dots(std::span<const Point> points, Series series, const std::string& tip,
                 double width) {
  series.dashed = false;
  body_ += fmt::format("<path class=\"{}\" stroke-width=\"{}\"{} d=\"{}\"/>\n",
                       classes("ds", series), px(width), tip_attribute(tip), dots_path(points));
}

void Panel::faint_dots(std::span<const Point> points) {
  body_ += fmt::format("<path class=\"ds faint s7\" stroke-width=\"2.2\" d=\"{}\"/>\n",
                       dots_path(points));
}

void Panel::rule_x(double value, const std::string& label) {
  body_ += fmt::format("<path class=\"ru\" d=\"M{} {}V{}\"/>\n", px(x(value)), px(layout_.top - 6),
                       px(layout_.height - layout_.bottom));
  // Above the curves, beside the words of the axis.
  constexpr double apart = 10;
  const double width = text_width(label);
  const double first = 4 + text_width(y_.label) + apart;
  const double left =
      std::clamp(x(value) - width / 2, first, std::max(first, layout_.width - width));
  body_ += fmt::format("<text class=\"sm\" x=\"{}\" y=\"{}\">{}</text>\n", px(left),
                       px(layout_.top - 10), html(label));
}

void Panel::segment(Point from, Point to, const char* css_class) {
  body_ += fmt::format("<path class=\"{}\" d=\"M{} {}L{} {}\"/>\n", css_class, px(x(from.x)),
                       px(y(from.y)), px(x(to.x)), px(y(to.y)));
}

void Panel::rectangle(Point low, Point high, const std::string& css_class,
                      const std::string& attributes, const std::string& tip) {
  // Cells of a heat map reach under the next ones, or there would be lines between them.
  const double seam = css_class == "hm" ? 0.4 : 0;
  body_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}{}/>\n",
                       css_class, px(x(low.x)), px(y(high.y)), px(x(high.x) - x(low.x) + seam),
                       px(y(low.y) - y(high.y) + seam), attributes, tip_attribute(tip));
}

void Panel::text(Point at, const std::string& words, const std::string& css_class,
                 const char* anchor, double dx, double dy) {
  double left = x(at.x) + dx;
  if (std::string_view(anchor) == "middle") {
    const double half = std::min(1.15 * text_width(words), layout_.width) / 2;
    left = std::clamp(left, half, layout_.width - half);
  }
  body_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n",
                       css_class, px(left), px(std::max(12.0, y(at.y) + dy)), anchor, html(words));
}

void Panel::end_labels(std::vector<std::pair<double, std::string>> labels,
                       const std::vector<Series>& series) {
  constexpr double apart = 14;
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return -labels[i].first; });
  std::vector<double> places;
  for (const std::size_t i : order) {
    const double wanted = y(labels[i].first);
    places.push_back(places.empty() ? wanted : std::max(wanted, places.back() + apart));
  }
  const double lowest = layout_.height - layout_.bottom + 4;
  for (std::size_t i = places.size(); i-- > 0;)
    places[i] = std::min(places[i], i + 1 == places.size() ? lowest : places[i + 1] - apart);
  for (std::size_t i = 0; i < order.size(); ++i) {
    Series plain = series[order[i]];
    plain.dashed = false;
    body_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", classes("lb", plain),
                         px(layout_.width - layout_.right + 6), px(places[i] + 4),
                         html(with_minus(labels[order[i]].second)));
  }
}

void Panel::row_label(double at, const std::string& words) {
  body_ += fmt::format("<text class=\"tk\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                       px(layout_.left - 8), px(y(at) + 4), html(words));
}

std::size_t Panel::label_every_tick() const {
  constexpr double apart = 8;
  // Digits are narrower than letters.
  const auto half = [&](std::size_t i) { return 0.9 * text_width(x_.ticks[i].second) / 2; };
  std::size_t every = 1;
  for (; every < x_.ticks.size(); ++every) {
    bool fits = true;
    for (std::size_t i = every; i < x_.ticks.size(); i += every)
      fits &=
          x(x_.ticks[i].first) - half(i) >= x(x_.ticks[i - every].first) + half(i - every) + apart;
    if (fits) break;
  }
  return every;
}

std::string Panel::axes() const {
  std::string out;
  const double bottom = layout_.height - layout_.bottom;
  const double right = layout_.width - layout_.right;
  for (const auto& [value, words] : y_.ticks)
    out += fmt::format(
        "<path class=\"gr\" d=\"M{} {}H{}\"/><text class=\"tk\" x=\"{}\" y=\"{}\" "
        "text-anchor=\"end\">{}</text>\n",
        px(layout_.left), px(y(value)), px(right), px(layout_.left - 6), px(y(value) + 4),
        html(words));
  const std::size_t every = label_every_tick();
  for (std::size_t i = 0; i < x_.ticks.size(); ++i) {
    const auto& [value, words] = x_.ticks[i];
    out += fmt::format("<path class=\"ax\" d=\"M{} {}v4\"/>\n", px(x(value)), px(bottom));
    if (i % every == 0)
      out += fmt::format("<text class=\"tk\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                         px(x(value)), px(bottom + 17), html(words));
  }
  if (!x_.label.empty() || !x_.ticks.empty())
    out += fmt::format("<path class=\"ax\" d=\"M{} {}H{}\"/>\n", px(layout_.left), px(bottom),
                       px(right));
  if (!x_.label.empty())
    out += fmt::format("<text class=\"al\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                       px(right), px(layout_.height - 6), html(x_.label));
  if (!y_.label.empty())
    out += fmt::format("<text class=\"al\" x=\"{}\" y=\"{}\">{}</text>\n", px(4),
                       px(layout_.top - 10), html(y_.label));
  // Two strokes through an axis that does not begin at 0.
  if (y_.is_cut)
    out += fmt::format("<path class=\"cut\" d=\"M{0} {1}l8 -4M{0} {2}l8 -4\"/>\n",
                       px(layout_.left - 4), px(bottom - 2), px(bottom - 6));
  if (x_.is_cut)
    out += fmt::format("<path class=\"cut\" d=\"M{1} {0}l4 -8M{2} {0}l4 -8\"/>\n", px(bottom + 4),
                       px(layout_.left + 1), px(layout_.left + 5));
  if (!title_.empty())
    out += fmt::format("<text class=\"ti\" x=\"4\" y=\"14\">{}</text>\n", html(with_minus(title_)));
  return out;
}

Drawing Panel::drawing(const std::string& alt) const {
  return {fmt::format(
              "<svg class=\"panel\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" role=\"img\" "
              "aria-label=\"{}\">\n{}{}</svg>",
              px(layout_.width), px(layout_.height), px(layout_.width), px(layout_.height),
              html(alt), axes(), body_),
          layout_.width, layout_.height};
}

double text_width(const std::string& text) {
  const auto characters = std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
  return 7.1 * static_cast<double>(characters);
}

double label_room(std::span<const std::string> labels) {
  double widest = 0;
  for (const std::string& label : labels) widest = std::max(widest, 1.1 * text_width(label));
  return widest + 14;
}

std::string shortened(const std::string& text, std::size_t most_characters) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) continue;
    if (++characters > most_characters) {
      // The last character makes room for the ellipsis.
      std::size_t end = i;
      do --end;
      while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U);
      return text.substr(0, end) + "…";
    }
  }
  return text;
}

std::string viridis(double share) {
  // Nine colours of the scale viridis; between them straight lines are close enough.
  struct Colour {
    double red, green, blue;
  };
  constexpr std::array colours = std::to_array<Colour>({{68, 1, 84},
                                                        {71, 44, 122},
                                                        {59, 81, 139},
                                                        {44, 113, 142},
                                                        {33, 144, 141},
                                                        {39, 173, 129},
                                                        {92, 200, 99},
                                                        {170, 220, 50},
                                                        {253, 231, 37}});
  const double at = std::clamp(std::isfinite(share) ? share : 0, 0.0, 1.0) * (colours.size() - 1);
  const std::size_t below = std::min<std::size_t>(static_cast<std::size_t>(at), colours.size() - 2);
  const double part = at - static_cast<double>(below);
  const auto mixed = [&](double Colour::*channel) {
    return static_cast<int>(std::lround(
        colours[below].*channel + part * (colours[below + 1].*channel - colours[below].*channel)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(&Colour::red), mixed(&Colour::green),
                     mixed(&Colour::blue));
}

Drawing colour_bar(double low, double high, const std::string& label) {
  constexpr int steps = 64;
  constexpr double left = 44;
  constexpr double width = 302;
  constexpr double all_width = 360;
  constexpr double all_height = 48;
  std::string out = fmt::format(
      "<svg class=\"panel bar\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "aria-label=\"{2}, from {3:.2f} to {4:.2f}\">\n",
      all_width, all_height, html(label), low, high);
  for (int i = 0; i < steps; ++i)
    out += fmt::format("<rect x=\"{}\" y=\"16\" width=\"{}\" height=\"10\" fill=\"{}\"/>",
                       px(left + width * i / steps), px(width / steps + 0.6),
                       viridis((i + 0.5) / steps));
  out += fmt::format("<text class=\"al\" x=\"{}\" y=\"11\">{}</text>", px(left), html(label));
  constexpr int ticks = 4;
  for (int i = 0; i <= ticks; ++i)
    out += fmt::format("<text class=\"tk\" x=\"{}\" y=\"41\" text-anchor=\"middle\">{:.1f}</text>",
                       px(left + width * i / ticks), low + (high - low) * i / ticks);
  return {out + "</svg>", all_width, all_height};
}

}  // namespace deepvoro
