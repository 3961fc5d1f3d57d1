#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

#include "core/base64.hpp"
#include "core/sha256.hpp"
#include "report/assets.hpp"
#include "report/escape.hpp"
#include "report/glossary.hpp"
#include "report/packed.hpp"

namespace deepvoro {
namespace {

// What a page allows to run: the script with this hash, and nothing that a name might smuggle in.
std::string script_hash(std::string_view script) {
  const std::string hex = sha256_hex(script);
  std::vector<std::byte> digest;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    digest.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return base64(digest);
}

std::string hidden_text(const char* kind, const std::string& text) {
  return fmt::format("<pre hidden data-kind=\"{}\">{}</pre>\n", kind, html(text));
}

constexpr std::size_t kPackedFrom = 2000;
std::string packed_text(const char* kind, const std::string& text) {
  return fmt::format("<pre hidden data-kind=\"{}\" data-packed>{}</pre>\n", kind, packed(text));
}

std::string made_html(const Provenance& made_by) {
  std::string out;
  if (!made_by.command.empty()) out += fmt::format("<code>{}</code>", html(made_by.command));
  for (const std::string* words : {&made_by.settings, &made_by.program})
    if (!words->empty()) out += (out.empty() ? "" : " · ") + html(*words);
  for (const std::string& hash : made_by.hashes) out += (out.empty() ? "" : " · ") + html(hash);
  return out.empty() ? "" : fmt::format("<p class=\"made\">{}</p>\n", out);
}

std::string heading(const std::string& title, const std::string& id) {
  return fmt::format(
      "<h3><span id=\"{0}-title\">{1}</span><a href=\"#{0}\" aria-label=\"link to "
      "this\">#</a></h3>\n",
      html(id), html(with_minus(title)));
}

std::string note_html(const std::string& note) {
  if (note.empty()) return "";
  return fmt::format("<p class=\"note\">{}{}</p>\n", html(note), note.ends_with('.') ? "" : ".");
}

std::string button(const char* action, const char* kind, const char* words) {
  return fmt::format("<button type=\"button\" data-do=\"{}\" data-kind=\"{}\">{}</button>", action,
                     kind, words);
}

// The numbers behind something, to look at and to save.
std::string numbers_html(const std::string& csv, bool is_left_out) {
  if (is_left_out)
    return note_html(
        "These numbers would make this page too large; the CSV files beside the study have them");
  const auto rows = std::ranges::count(csv, '\n') - 1;
  return fmt::format(
             "<details><summary>{} {}</summary><div class=\"scroll\" tabindex=\"0\" "
             "role=\"region\" aria-label=\"numbers\" data-empty></div></details>\n",
             rows, rows == 1 ? "row of numbers" : "rows of numbers") +
         (csv.size() > kPackedFrom ? packed_text("csv", csv) : hidden_text("csv", csv));
}

class Writer {
 public:
  explicit Writer(const std::set<std::string>& left_out) : left_out_(left_out) {}

  std::string operator()(const ShownTable& shown) const {
    const ReportTable& table = shown.table;
    return fmt::format("<div class=\"block table\" id=\"{}\">\n", html(table.id)) +
           heading(table.title, table.id) +
           fmt::format(
               "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
               "aria-label=\"{}\">\n{}</div>\n",
               html(table.title), table_html(table)) +
           note_html(table.note) + "<div class=\"tools\">" +
           button("copy", "latex", "copy as LaTeX") +
           button("copy", "markdown", "copy as Markdown") + button("copy", "csv", "copy as CSV") +
           "</div>\n" + hidden_text("latex", table_latex(table)) +
           hidden_text("markdown", table_markdown(table)) + hidden_text("csv", table_csv(table)) +
           made_html(shown.made_by) + "</div>\n";
  }

  std::string operator()(const Figure& figure) const {
    const bool is_left_out = left_out_.contains(figure.id);
    std::string out = fmt::format(
                          "<figure class=\"block\" id=\"{0}\" aria-labelledby=\"{0}-title\" "
                          "data-columns=\"{1}\">\n",
                          html(figure.id), figure.columns) +
                      heading(figure.title, figure.id) + "<div class=\"panels\">\n";
    for (const Drawing& panel : figure.panels) out += panel.svg + "\n";
    out += "</div>\n" + note_html(figure.note) + "<div class=\"tools\">" +
           button("save", "svg", "save SVG");
    if (!is_left_out) out += button("save", "csv", "save CSV");
    return out + "</div>\n" + numbers_html(figure.csv, is_left_out) + made_html(figure.made_by) +
           "</figure>\n";
  }

  std::string operator()(const Gallery& gallery) const {
    std::string out = fmt::format("<div class=\"block\" id=\"{}\">\n", html(gallery.id)) +
                      heading(gallery.title, gallery.id) + "<ul class=\"gallery\">\n";
    for (const Gallery::Item& item : gallery.items) {
      out += "<li>";
      if (!item.image.empty())
        out += fmt::format("<img alt=\"{}\" src=\"data:image/png;base64,{}\">", html(item.title),
                           item.image);
      out += fmt::format("{}<br><span>{}</span></li>\n", html(item.title), html(item.text));
    }
    return out + "</ul>\n" + note_html(gallery.note) + "<div class=\"tools\">" +
           button("save", "csv", "save CSV") + "</div>\n" + numbers_html(gallery.csv, false) +
           made_html(gallery.made_by) + "</div>\n";
  }

 private:
  const std::set<std::string>& left_out_;
};

std::string page_without(const Document& document, const std::set<std::string>& left_out) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; img-src data:; script-src 'sha256-{}'\">\n"
      "<title>{}</title>\n<style "
      "id=\"figure-style\">\n{}</style>\n<style>\n{}{}</style>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#main\">to the results</a>\n<div class=\"page\">\n"
      "<header>\n<h1>{}</h1>\n<p class=\"subject\">{}</p>\n",
      script_hash(assets::report_js()), html(document.title), assets::figure_css(),
      assets::dark_css(), assets::report_css(), html(document.title), html(document.subject));
  if (!document.lead.empty()) out += fmt::format("<p class=\"lead\">{}</p>\n", html(document.lead));
  out += "</header>\n" + glossary_html() + "<nav aria-label=\"sections\"><ol>\n";
  for (const Section& section : document.sections)
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", html(section.id), html(section.title));
  out += "</ol></nav>\n<main id=\"main\">\n";
  const Writer writer(left_out);
  for (const Section& section : document.sections) {
    out += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", html(section.id), html(section.title));
    for (const Block& block : section.blocks) out += std::visit(writer, block);
    out += "</section>\n";
  }
  return out + fmt::format(
                   "</main>\n</div>\n<div id=\"tip\" hidden></div>\n<div id=\"said\" "
                   "class=\"skip\" role=\"status\"></div>\n<script>{}</script>\n</body>\n</html>\n",
                   assets::report_js());
}

}  // namespace

std::string page_html(const Document& document, std::size_t largest) {
  std::vector<std::pair<std::size_t, std::string>> by_size;
  for (const Section& section : document.sections)
    for (const Block& block : section.blocks)
      if (const auto* figure = std::get_if<Figure>(&block))
        by_size.emplace_back(figure->csv.size(), figure->id);
  std::ranges::sort(by_size);
  std::set<std::string> left_out;
  std::string page = page_without(document, left_out);
  while (page.size() > largest && !by_size.empty()) {
    left_out.insert(by_size.back().second);
    by_size.pop_back();
    page = page_without(document, left_out);
  }
  return page;
}

}  // namespace deepvoro
