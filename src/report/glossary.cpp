#include "report/glossary.hpp"

#include <fmt/format.h>

#include <array>

#include "report/escape.hpp"

namespace deepvoro {
namespace {

struct Entry {
  const char* word;
  const char* meaning;
};
constexpr std::array kEntries = std::to_array<Entry>({
    {"episode",
     "A small problem drawn at random: some classes (ways), a few labelled samples of each (shots, "
     "together the support), and unlabelled ones to classify (queries). Accuracies are means over "
     "episodes; ± is their 95% interval."},
    {"base, val, novel",
     "Three sets of classes without overlap. The network was trained on base; val is for "
     "choosing: parameters, members, how many; novel is reported and never chosen on."},
    {"view",
     "The features of all pictures after one change of them, such as a crop or a mirror image."},
    {"member",
     "One Voronoi diagram: a view and a transformation of its features, with a geometry where "
     "there "
     "are several. An ensemble adds up the influences of its members."},
    {"transformation",
     "Rows of features are scaled to unit length, b is added, and the power λ is taken (λ = 0: "
     "the logarithm)."},
    {"surrogate",
     "A base class near a prototype. DeepVoro++ also compares how far queries and prototypes are "
     "from "
     "the R nearest of them; β is the weight of the plain distance beside that (its geometry)."},
    {"guided, greedy, random, full",
     "Which members take part: the best on val and as many as do best together "
     "there; one after the other, whichever helps most on val; any; all."},
    {"oracle", "A choice made on novel, to show what it would have given: not a result."},
    {"vd, dc, s2m2",
     "Nearest prototype; distribution calibration; the cosine classifier of S2M2_R. "
     "These are baselines."},
    {"plda",
     "Prototypes in a space learned from the base classes (two-covariance model). Not in the "
     "paper."},
});

}  // namespace

std::string glossary_html() {
  std::string out = "<details class=\"words\"><summary>Words used here: ";
  for (std::size_t i = 0; i < kEntries.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ", ", html(kEntries[i].word));
  out += "</summary>\n<dl>\n";
  for (const Entry& entry : kEntries)
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html(entry.word), html(entry.meaning));
  return out + "</dl></details>\n";
}

}  // namespace deepvoro
