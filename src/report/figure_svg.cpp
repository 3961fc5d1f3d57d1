#include "report/figure_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/assets.hpp"
#include "report/escape.hpp"

namespace deepvoro {
namespace {

constexpr double kGap = 16;
constexpr double kLine = 18;  // of the title
constexpr double kTitleCharacter = 7.4;

std::vector<std::string> wrapped(const std::string& text, double most_characters) {
  std::vector<std::string> lines(1);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const bool fits = static_cast<double>(lines.back().size() + 1 + word.size()) <= most_characters;
    if (lines.back().empty())
      lines.back() = word;
    else if (fits)
      lines.back() += " " + word;
    else
      lines.push_back(word);
    begin = end + 1;
  }
  return lines;
}

// What a page says on hover, as the elements <title> that viewers of a picture show.
std::string with_titles(const std::string& svg) {
  constexpr std::string_view attribute = " data-t=\"";
  constexpr std::string_view end_of_element = "/>";
  std::string out;
  std::size_t begin = 0;
  for (std::size_t at = svg.find(attribute); at != std::string::npos;
       at = svg.find(attribute, begin)) {
    const std::size_t words = at + attribute.size();
    const std::size_t quote = svg.find('"', words);
    const std::size_t end = svg.find(end_of_element, quote);
    const std::size_t tag = svg.rfind('<', at) + 1;
    out += svg.substr(begin, at - begin) + svg.substr(quote + 1, end - quote - 1);
    out += fmt::format("><title>{}</title></{}>", svg.substr(words, quote - words),
                       svg.substr(tag, svg.find(' ', tag) - tag));
    begin = end + end_of_element.size();
  }
  return out + svg.substr(begin);
}

}  // namespace

std::string figure_svg(const Figure& figure) {
  const std::size_t columns = std::min(figure.columns, figure.panels.size());
  double widest = 0;
  for (const Drawing& panel : figure.panels) widest = std::max(widest, panel.width);
  const double width = static_cast<double>(columns) * (widest + kGap) - kGap;
  std::string body;
  double top = kLine;
  for (const std::string& line : wrapped(figure.title, width / kTitleCharacter)) {
    body +=
        fmt::format("<text x=\"4\" y=\"{}\" style=\"font-size:14px;font-weight:600\">{}</text>\n",
                    top, html(line));
    top += kLine;
  }
  top -= kLine / 3;
  for (std::size_t i = 0; i < figure.panels.size(); i += columns) {
    double tallest = 0;
    for (std::size_t j = i; j < std::min(i + columns, figure.panels.size()); ++j) {
      const Drawing& panel = figure.panels[j];
      body +=
          fmt::format("<g transform=\"translate({} {})\">{}</g>\n",
                      static_cast<double>(j - i) * (widest + kGap), top, with_titles(panel.svg));
      tallest = std::max(tallest, panel.height);
    }
    top += tallest + kGap;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"panel\" viewBox=\"0 0 {} {}\" "
      "width=\"{}\" "
      "height=\"{}\" role=\"img\">\n<title>{}</title>\n<style>\n{}{}</style>\n{}</svg>\n",
      width, top, width, top, html(figure.title), assets::figure_css(), assets::dark_css(), body);
}

}  // namespace deepvoro
