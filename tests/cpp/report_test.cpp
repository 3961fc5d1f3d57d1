#include "deepvoro/report/report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "core/base64.hpp"
#include "expect_error.hpp"
#include "report/cells.hpp"
#include "report/escape.hpp"
#include "report/page.hpp"
#include "report/paper_numbers.hpp"
#include "report/plot.hpp"
#include "report/recorded_study.hpp"
#include "report/table.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using test::expect_error;
using test::read_file;
using test::TemporaryFolder;
using test::write_file;

json result(const std::string& method, const std::vector<double>& accuracy,
            const std::string& store = "stores/birds") {
  return {{"format", "deepvoro-result"},
          {"version", 1},
          {"method", method},
          {"split", "novel"},
          {"ways", 5},
          {"shots", 1},
          {"queries", 15},
          {"episodes", accuracy.size()},
          {"seed", 0},
          {"protocol", "deepvoro"},
          {"scheme", "full"},
          {"members", 2},
          {"episode_accuracy", accuracy},
          {"store", {{"path", store}, {"sha256", "abc"}}},
          {"seconds", {{"selection", 0.5}, {"evaluation", 1.0}}}};
}

json study(const json& tables) {
  return {{"format", "deepvoro-study"},
          {"version", 1},
          {"study", "mine"},
          {"stores", json::array({{{"name", "birds"}}})},
          {"tables", tables}};
}

json small_table() {
  return {{"name", "t"},
          {"title", "A title"},
          {"columns",
           {{{"name", "store"}, {"label", "store"}},
            {{"name", "novel"}, {"label", "novel accuracy"}, {"unit", "%"}}}},
          {"rows", json::array({json::array({"birds", 71.5}), json::array({"fish", nullptr})})}};
}

class ReportTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file(const std::string& name, const json& document) const {
    write_file(folder_ / name, document.dump());
    return folder_ / name;
  }

  TemporaryFolder folder_;
  // plda is 10 above vd on average, dc 5 below: 5 episodes.
  json results_ = {result("vd", {60, 62, 64, 66, 68}), result("dc", {55, 57, 59, 61, 63}),
                   result("plda", {69, 73, 74, 76, 78})};
};

TEST_F(ReportTest, TablesAreThoseOfAPaperInLatex) {
  EXPECT_EQ(
      report_tables({{file("r.json", results_)}}, TableFormat::latex),
      "% needs \\usepackage{booktabs,xcolor}\n"
      "\\begin{table}[tb]\\centering\n"
      "\\caption{Accuracy on birds, novel: 5-way, 15 queries per class, 5 episodes, seed 0, "
      "protocol "
      "deepvoro. $\\pm$ is the 95\\% interval over episodes. Differences are paired, on the same "
      "episodes, to the best baseline: vd at 1 shot. * better than it with p $<$ 0.05 (paired "
      "t-test)}"
      "\\label{tab:methods}\n"
      "\\begin{tabular}{llrrrrr}\\toprule\n"
      "\\textbf{shots} & \\textbf{method} & \\textbf{accuracy, \\%} & \\textbf{difference} & "
      "\\textbf{p} & "
      "\\textbf{members} & \\textbf{time} \\\\\\midrule\n"
      "1 shot & vd & \\underline{64.00 $\\pm$ 2.48} & -- & -- & 2 & 1.5 s \\\\\n"
      "1 shot & dc & 59.00 $\\pm$ 2.48 & $-$5.00 $\\pm$ 0.00 & $<$ 1e-300 & 2 & 1.5 s \\\\\n"
      "1 shot & plda & \\textbf{74.00 $\\pm$ 2.66}$^{*}$ & +10.00 $\\pm$ 0.55 & 6e-06 & 2 & 1.5 s "
      "\\\\\n"
      "\\bottomrule\n\\end{tabular}\n\\end{table}\n");
}

TEST_F(ReportTest, TablesInMarkdownAndCsv) {
  const ReportRequest request{{file("r.json", results_)}};
  const std::string markdown_text = report_tables(request, TableFormat::markdown);
  EXPECT_NE(markdown_text.find(
                "| shots | method | accuracy, % | difference | p | members | time |\n"
                "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
                "| 1 shot | vd | *64.00 ± 2.48* | – | – | 2 | 1.5 s |\n"
                "| 1 shot | dc | 59.00 ± 2.48 | -5.00 ± 0.00 | \\< 1e-300 | 2 | 1.5 s |\n"
                "| 1 shot | plda | **74.00 ± 2.66**\\* | +10.00 ± 0.55 | 6e-06 | 2 | 1.5 s |\n"),
            std::string::npos)
      << markdown_text;
  const std::string csv = report_tables(request, TableFormat::csv);
  EXPECT_TRUE(
      csv.starts_with("shots,method,accuracy,ci95,difference,difference_ci95,p,members,"
                      "seconds\n1,vd,64,2.47"))
      << csv;
  EXPECT_NE(csv.find("\n1,dc,59,"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",-5,0,0,2,1.5\n"), std::string::npos) << csv;
}

TEST_F(ReportTest, APaperDatasetHasThePapersNumbersBesideOurs) {
  const std::string csv =
      report_tables({{file("r.json", {result("dc", {80, 82}, "x/cub-wrn")})}}, TableFormat::csv);
  EXPECT_NE(csv.find("\nCUB,dc,81,"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",79.93,0.46,1.0"), std::string::npos) << csv;
  const std::string text = report_tables({{file("r.json", {result("dc", {80, 82}, "x/cub-wrn")})}},
                                         TableFormat::markdown);
  EXPECT_NE(
      text.find("| mini-ImageNet | not evaluated here: the pictures come with ImageNet's terms"),
      std::string::npos)
      << text;
}

TEST_F(ReportTest, NumbersOfThePaperAreThoseOfItsTables) {
  struct Known {
    const char* table;
    const char* column;
    const char* row;
    std::size_t shots;
    double accuracy;
    double ci95;
  };
  for (const Known& known : {Known{"main", "cub", "deepvoro", 1, 82.99, 0.43},
                             {"main", "mini", "deepvoro++", 1, 71.30, 0.46},
                             {"main", "tiered", "MELR", 5, 87.01, 0.35},
                             {"joint", "cub", "vd+voronoi-lr", 5, 91.57, 0.22},
                             {"no_dist", "tiered", "views", 5, 88.67, 0.29},
                             {"with_dist", "mini", "random", 1, 71.34, 0.46},
                             {"ablation_all", "mini", "deepvoro++ geometries", 5, 83.27, 0.31},
                             {"backbone", "conv-4", "deepvoro++", 1, 52.15, 0.98},
                             {"precursor", "mixup", "s2m2", 1, 48.11, 0.96},
                             {"cross", "mini to cub", "dc", 5, 72.83, 0.71}}) {
    const PaperNumber* found = paper_number(known.table, known.column, known.row, known.shots);
    ASSERT_NE(found, nullptr) << known.table << known.row;
    EXPECT_EQ(found->accuracy, known.accuracy);
    EXPECT_EQ(found->ci95, known.ci95);
  }
  EXPECT_EQ(paper_number("backbone", "conv-4", "deepvoro++", 5), nullptr);
  EXPECT_EQ(paper_numbers().size(), 334U);
  EXPECT_EQ(paper_minutes("deepvoro++", 1280), 179.05);
  EXPECT_EQ(paper_minutes("deepvoro++", 80), std::nullopt);
  EXPECT_EQ(dataset_of("cub-wrn28-10"), "cub");
  EXPECT_EQ(dataset_of("mini-to-cub"), "cub");
  EXPECT_EQ(dataset_of("quickdraw"), "");
}

TEST_F(ReportTest, NamesAreEscapedInEveryFormat) {
  const std::string evil = "<script>alert('a & \"b\"')</script>";
  EXPECT_EQ(html(evil), "&lt;script&gt;alert(&#39;a &amp; &quot;b&quot;&#39;)&lt;/script&gt;");
  EXPECT_EQ(
      latex("\\input{a}_b%c#d$e&f~g^h"),
      "\\textbackslash{}input\\{a\\}\\_b\\%c\\#d\\$e\\&f\\textasciitilde{}g\\textasciicircum{}h");
  EXPECT_EQ(latex("deepvoro--"), "deepvoro-{}-");
  EXPECT_EQ(markdown("a|b*c_d`e<f>[g]\\"), "a\\|b\\*c\\_d\\`e\\<f\\>\\[g\\]\\\\");
  write_report({{file("r.json", {result(evil, {1, 2}, evil)})}}, folder_ / "r.html");
  const std::string page = read_file(folder_ / "r.html");
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert"), std::string::npos);
  const std::string table = report_tables(
      {{file("r.json", {result("\\input{/etc/passwd}", {1, 2})})}}, TableFormat::latex);
  EXPECT_EQ(table.find("\\input"), std::string::npos);
}

TEST_F(ReportTest, BadInputIsOneLineAndLeavesNothing) {
  const auto refuse = [&](const json& document, std::initializer_list<std::string_view> fragments) {
    const std::filesystem::path input = file("bad.json", document);
    expect_error(ErrorKind::data, fragments,
                 [&] { write_report({{input}}, folder_ / "out.html"); });
    EXPECT_EQ(folder_.file_names(), std::vector<std::string>{"bad.json"});
  };
  refuse(json::object(), {"bad.json", "neither a result nor a study", "deepvoro study"});
  refuse(study(json::array()), {"bad.json", "\"tables\""});
  json table = small_table();
  table["rows"][1] = json::array({"fish"});
  refuse(study(json::array({table})), {"bad.json: table 0: row 1 is not a list of 2 values"});
  table = small_table();
  table["rows"][1][1] = json::object();
  refuse(study(json::array({table})), {"row 1, column novel, is no number"});
  table["rows"][1][1] = 1e300;
  refuse(study(json::array({table})), {"row 1, column novel, is a number beyond 1e15"});
  table = small_table();
  table["columns"][1]["name"] = "store";
  refuse(study(json::array({table})), {"store is the name of two columns"});
  table["columns"][1]["name"] = "<b>";
  refuse(study(json::array({table})), {"column 1", "letters, digits"});
  json document = study(json::array({small_table()}));
  document["version"] = 2;
  refuse(document, {"\"version\" must be 1"});
  document = result("vd", {1, 2});
  document["answers"] = {{"classes", {"a", "b"}}, {"samples", {1}}};
  refuse(document, {"\"answers\"", "\"samples\" has 1 values instead of 2"});
  document = study(json::array({small_table()}));
  document["study"] = "shots";
  document["tables"][0]["name"] = "shots";
  refuse(document, {"row 0 has no number in the column shots"});
  document["study"] = "diagram";
  document["tables"][0] = {
      {"name", "panels"},
      {"columns", {{{"name", "width"}}, {{"name", "height"}}, {{"name", "cells"}}}},
      {"rows", json::array({json::array({2, 2, "AAA="})})}};
  document["tables"][1] = {
      {"name", "points"}, {"columns", json::array({{{"name", "panel"}}})}, {"rows", json::array()}};
  refuse(document, {"not width x height bytes"});
}

TEST_F(ReportTest, AMissingFileOrAFolderOfOtherThingsIsRefused) {
  expect_error(ErrorKind::data, {"nowhere.json"},
               [&] { write_report({{folder_ / "nowhere.json"}}, folder_ / "out.html"); });
  std::filesystem::create_directory(folder_ / "in");
  write_file(folder_ / "in/pool.json", R"({"format":"deepvoro-pool"})");
  expect_error(ErrorKind::data,
               {"in: holds neither a result nor a study", "deepvoro evaluate --json"},
               [&] { write_report({{folder_ / "in"}}, folder_ / "out.html"); });
  write_file(folder_ / "picture.png", "\x89PNG");
  expect_error(ErrorKind::data, {"picture.png: is not valid JSON", "deepvoro evaluate --json"},
               [&] { write_report({{folder_ / "picture.png"}}, folder_ / "out.html"); });
  expect_error(ErrorKind::usage, {"at least one"}, [&] { write_report({}, folder_ / "out.html"); });
  expect_error(ErrorKind::usage, {"`tables` word", "latex, markdown, csv"},
               [] { (void)table_format_named("word"); });
}

TEST_F(ReportTest, AFolderIsItsStudiesAndResults) {
  std::filesystem::create_directory(folder_ / "in");
  write_file(folder_ / "in/a.json", study(json::array({small_table()})).dump());
  write_file(folder_ / "in/b.json", results_.dump());
  write_file(folder_ / "in/pool.json", R"({"format":"deepvoro-pool"})");
  const std::string text = report_tables({{folder_ / "in"}}, TableFormat::markdown);
  EXPECT_NE(text.find("Accuracy on birds"), std::string::npos);
  EXPECT_NE(text.find("| birds | 71.50 |\n| fish | – |"), std::string::npos) << text;
}

TEST_F(ReportTest, HalfAnIntervalStandsBesideItsNumber) {
  json table = small_table();
  table["columns"].push_back({{"name", "novel_ci95"}, {"label", "interval"}, {"unit", "%"}});
  table["rows"] =
      json::array({json::array({"birds", 71.5, 0.25}), json::array({"fish", 3, nullptr})});
  const auto tables = [&](TableFormat format) {
    return report_tables({{file("s.json", study(json::array({table})))}}, format);
  };
  EXPECT_NE(tables(TableFormat::markdown).find("| birds | 71.50 ± 0.25 |\n| fish | 3.00 |"),
            std::string::npos);
  EXPECT_EQ(tables(TableFormat::csv), "store,novel,novel_ci95\nbirds,71.5,0.25\nfish,3,\n");
}

TEST_F(ReportTest, TheHeadlineOfMembersDependsOnTheCorrelation) {
  const auto headline = [&](std::vector<double> correlations) {
    json members = {{"name", "members"},
                    {"columns",
                     {{{"name", "store"}},
                      {{"name", "shots"}},
                      {{"name", "method"}},
                      {{"name", "val"}},
                      {{"name", "novel"}}}},
                    {"rows", json::array()}};
    json found = {
        {"name", "correlation"},
        {"columns",
         {{{"name", "store"}}, {{"name", "shots"}}, {{"name", "method"}}, {{"name", "r"}}}},
        {"rows", json::array()}};
    for (std::size_t i = 0; i < correlations.size(); ++i) {
      members["rows"].push_back({"birds", i + 1, "deepvoro", 70.0, 71.0});
      members["rows"].push_back({"birds", i + 1, "deepvoro", 72.0, 73.0});
      found["rows"].push_back({"birds", i + 1, "deepvoro", correlations[i]});
    }
    json document = study(json::array({members, found}));
    document["study"] = "members";
    write_report({{file("members.json", document)}}, folder_ / "out.html");
    const std::string page = read_file(folder_ / "out.html");
    const std::size_t begin = page.find("-title\">") + 8;
    return page.substr(begin, page.find('<', begin) - begin);
  };
  EXPECT_EQ(headline({0.9, 0.75}),
            "Members that do well on val do well on novel: r = 0.75 to 0.90");
  EXPECT_EQ(headline({0.5}), "Members that do well on val tend to do well on novel: r = 0.50");
  EXPECT_EQ(headline({-0.35, 0.29}),
            "How a member does on val says little about novel: r = −0.35 to 0.29");
  EXPECT_EQ(
      headline({0.1, 0.9}),
      "Val tells which members are good for some methods and shots, not for all: r = 0.10 to 0.90");
}

TEST_F(ReportTest, AStarIsForMethodsAboveTheBaselinesAlone) {
  json rows = json::array();
  for (const char* store : {"birds", "fish"}) {
    rows.push_back({store, "dc", 5, 30.0, 0.5, nullptr});
    rows.push_back({store, "s2m2_r", 5, 32.0, 0.5, nullptr});
    rows.push_back({store, "deepvoro", 5, 31.0, 0.5, 1e-9});
    rows.push_back({store, "deepvoro++", 5, 32.1, 0.5, 0.3});
    rows.push_back({store, "plda", 5, 33.0, 0.5, 1e-9});
  }
  json columns = json::array();
  for (const char* name : {"store", "method", "shots", "accuracy", "ci95", "p_vs_best_baseline"})
    columns.push_back({{"name", name}});
  json document = study(json::array({{{"name", "table"}, {"columns", columns}, {"rows", rows}}}));
  document["study"] = "cross-domain";
  const std::string text =
      report_tables({{file("cross-domain.json", document)}}, TableFormat::markdown);
  EXPECT_NE(text.find("| 5 shots | birds | 30.00 ± 0.50 | 32.00 ± 0.50 | 31.00 ± 0.50 | "
                      "*32.10 ± 0.50* | **33.00 ± 0.50**\\* |\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| deepvoro | 31.00 ± 0.50 |\n| deepvoro++ | *32.10 ± 0.50* |\n"
                      "| plda | **33.00 ± 0.50**\\* |\n"),
            std::string::npos)
      << text;
}

TEST_F(ReportTest, SaysWhatItWasMadeOf) {
  write_file(folder_ / "a.json", study(json::array({small_table()})).dump());
  const ReportContents contents =
      write_report({{folder_ / "a.json", file("b.json", results_)}}, folder_ / "out.html");
  EXPECT_EQ(contents.studies, 1U);
  EXPECT_EQ(contents.results, 3U);
  EXPECT_EQ(contents.tables, 2U);
  EXPECT_EQ(contents.figures, 1U);
}

TEST_F(ReportTest, FiguresAreFilesOfTheirOwn) {
  const auto files = write_figures({{file("r.json", results_)}}, folder_ / "new/figures");
  ASSERT_EQ(files, std::vector{folder_ / "new/figures/differences.svg"});
  const std::string svg = read_file(files[0]);
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"")) << svg;
  EXPECT_NE(svg.find("<title>plda: +10.00 ± 0.55 to vd, p 6e-06</title></circle>"),
            std::string::npos)
      << svg;
  EXPECT_EQ(svg.find("data-t="), std::string::npos) << svg;
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos) << svg;
}

TEST_F(ReportTest, APageThatWouldBeTooLargeLeavesNumbersOut) {
  Document document{.title = "T", .subject = {}, .lead = {}};
  std::mt19937 draw(1);
  std::string numbers;
  while (numbers.size() < 100'000) numbers += fmt::format("{}\n", draw());
  document.sections.push_back(
      {"s",
       "S",
       {Figure{.id = "small", .title = "t", .panels = {}, .csv = "a\n1\n"},
        Figure{.id = "large", .title = "t", .panels = {}, .csv = "a\n" + numbers}}});
  const std::string whole = page_html(document);
  EXPECT_NE(whole.find("data-packed>"), std::string::npos);
  EXPECT_LT(whole.size(), numbers.size());
  const std::string page = page_html(document, 60'000);
  EXPECT_EQ(page.find("data-packed>"), std::string::npos);
  EXPECT_NE(page.find("would make this page too large"), std::string::npos);
  EXPECT_NE(page.find("<pre hidden data-kind=\"csv\">a\n1\n"), std::string::npos);
}

TEST(Escape, NumbersBelowZeroHaveAMinus) {
  EXPECT_EQ(with_minus("-1 to -0.5 (-2)"), "−1 to −0.5 (−2)");
  EXPECT_EQ(with_minus("wrn-28 --shots deepvoro-- 1e-05 -x -"),
            "wrn-28 --shots deepvoro-- 1e-05 -x -");
}

TEST(Base64, GoesThereAndBack) {
  for (const std::string& text : {std::string(), std::string("a"), std::string("ab"),
                                  std::string("abc"), std::string("\0\xff\x80~", 4)}) {
    const auto bytes = std::as_bytes(std::span(text));
    const auto back = from_base64(base64(bytes));
    ASSERT_TRUE(back.has_value());
    EXPECT_TRUE(std::ranges::equal(*back, bytes));
  }
  EXPECT_EQ(base64(std::as_bytes(std::span("Man", 2))), "TWE=");
  for (const char* broken : {"TWE", "TW*=", "=TWE"})
    EXPECT_EQ(from_base64(broken), std::nullopt) << broken;
}

double area(const CellOutline& outline) {
  double twice = 0;
  for (const auto& loop : outline.loops)
    for (std::size_t i = 0; i < loop.size(); ++i) {
      const auto& [x0, y0] = loop[i];
      const auto& [x1, y1] = loop[(i + 1) % loop.size()];
      twice += x0 * y1 - x1 * y0;
    }
  return std::abs(twice) / 2;
}

TEST(CellOutlines, OfAStraightBorderAreFewAndExact) {
  constexpr std::size_t side = 40;
  std::vector<std::uint8_t> labels(side * side);
  for (std::size_t y = 0; y < side; ++y)
    for (std::size_t x = 0; x < side; ++x) labels[y * side + x] = x + 2 * y < 60 ? 0 : 3;
  const auto outlines = cell_outlines(labels, side, side);
  ASSERT_EQ(outlines.size(), 2U);
  EXPECT_EQ(outlines[1].label, 3);
  EXPECT_NEAR(area(outlines[0]) + area(outlines[1]), side * side, 1e-9);  // no gap, no overlap
  EXPECT_NEAR(area(outlines[0]), static_cast<double>(std::ranges::count(labels, 0)), 8);
  for (const CellOutline& outline : outlines) {
    ASSERT_EQ(outline.loops.size(), 1U);
    EXPECT_LT(outline.loops[0].size(), 12U);
  }
}

TEST(CellOutlines, HaveHolesAndTouchAtCorners) {
  // An island, and two pixels of one cell that touch at a corner.
  const std::vector<std::uint8_t> island{1, 1, 1, 1, 1, 1, 2, 2, 1, 1,
                                         1, 2, 2, 1, 1, 1, 1, 1, 1, 1};
  const auto outlines = cell_outlines(island, 5, 4);
  ASSERT_EQ(outlines.size(), 2U);
  EXPECT_EQ(outlines[0].loops.size(), 2U);
  EXPECT_EQ(outlines[1].loops.size(), 1U);
  const auto touching = cell_outlines(std::vector<std::uint8_t>{0, 1, 1, 0}, 2, 2);
  EXPECT_EQ(touching[0].loops.size(), 2U);
  EXPECT_EQ(touching[1].loops.size(), 2U);
}

TEST(Plot, AxesHaveRoundTicksAndSayWhereTheyAreCut) {
  const Axis axis = accuracy_axis("accuracy, %", std::vector<double>{71.2, 78.9});
  EXPECT_TRUE(axis.is_cut);
  EXPECT_GE(axis.ticks.size(), 3U);
  EXPECT_EQ(axis.ticks.front().second, "72");
  EXPECT_FALSE(accuracy_axis("", std::vector<double>{0, 50}).is_cut);
  EXPECT_LE(accuracy_axis("", std::vector<double>{99.9}).high, 100);
  const Axis wild = linear_axis("", std::vector<double>{NAN, HUGE_VAL, 1e300});
  EXPECT_TRUE(std::isfinite(wild.low) && wild.high > wild.low);
  EXPECT_EQ(viridis(0), "#440154");
  EXPECT_EQ(viridis(1), "#fde725");
  EXPECT_EQ(viridis(NAN), "#440154");
  EXPECT_EQ(shortened("äöüäöü", 4), "äöü…");
}

TEST(Table, NumbersForPeople) {
  EXPECT_EQ(estimate_text(-0.001, 0.1, true), "0.00 ± 0.10");
  EXPECT_EQ(estimate_text(1.005, std::nullopt, true), "+1.00");
  EXPECT_EQ(p_text(0.04321), "0.043");
  EXPECT_EQ(p_text(3e-12), "3e-12");
  EXPECT_EQ(duration_text(0.0042), "4.2 ms");
  EXPECT_EQ(duration_text(75), "75 s");
  EXPECT_EQ(duration_text(10743), "3.0 h");
}

}  // namespace
}  // namespace deepvoro
