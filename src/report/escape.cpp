#include "report/escape.hpp"

#include <array>
#include <span>
#include <utility>

namespace deepvoro {
namespace {

using Replacement = std::pair<std::string_view, std::string_view>;

std::string replaced(std::string_view text, std::span<const Replacement> replacements) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::string_view from = text.substr(0, 1);
    std::string_view to = from;
    for (const auto& [special, written] : replacements)
      if (text.starts_with(special)) {
        from = special;
        to = written;
        break;
      }
    out += to;
    text.remove_prefix(from.size());
  }
  return out;
}

constexpr std::array kHtml = std::to_array<Replacement>(
    {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});

constexpr std::array kLatex = std::to_array<Replacement>({{"\\", "\\textbackslash{}"},
                                                          {"{", "\\{"},
                                                          {"}", "\\}"},
                                                          {"$", "\\$"},
                                                          {"&", "\\&"},
                                                          {"#", "\\#"},
                                                          {"%", "\\%"},
                                                          {"_", "\\_"},
                                                          {"~", "\\textasciitilde{}"},
                                                          {"^", "\\textasciicircum{}"},
                                                          {"--", "-{}-"},
                                                          {"<", "$<$"},
                                                          {">", "$>$"},
                                                          {"±", "$\\pm$"},
                                                          {"−", "$-$"},
                                                          {"–", "--"},
                                                          {"·", "$\\cdot$"},
                                                          {"λ", "$\\lambda$"},
                                                          {"β", "$\\beta$"},
                                                          {"×", "$\\times$"}});

constexpr std::array kMarkdown = std::to_array<Replacement>({{"\\", "\\\\"},
                                                             {"`", "\\`"},
                                                             {"*", "\\*"},
                                                             {"_", "\\_"},
                                                             {"[", "\\["},
                                                             {"]", "\\]"},
                                                             {"<", "\\<"},
                                                             {">", "\\>"},
                                                             {"&", "\\&"},
                                                             {"|", "\\|"}});

}  // namespace

std::string html(std::string_view text) {
  return replaced(text, kHtml);
}

std::string latex(std::string_view text) {
  return replaced(text, kLatex);
}

std::string markdown(std::string_view text) {
  return replaced(text, kMarkdown);
}

std::string with_minus(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || text[i - 1] == ' ' || text[i - 1] == '(';
    const bool is_sign =
        text[i] == '-' && begins && i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9';
    out += is_sign ? "−" : std::string(1, text[i]);
  }
  return out;
}

}  // namespace deepvoro
