#include "deepvoro/study/compare.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "expect_error.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using test::expect_error;
using test::TemporaryFolder;
using test::write_file;

json result(const std::string& method, std::size_t shots, const std::vector<double>& accuracy) {
  return {{"format", "deepvoro-result"},
          {"version", 1},
          {"method", method},
          {"split", "novel"},
          {"ways", 5},
          {"shots", shots},
          {"queries", 15},
          {"episodes", accuracy.size()},
          {"seed", 3},
          {"protocol", "dc"},
          {"scheme", "full"},
          {"members", 2},
          {"episode_accuracy", accuracy},
          {"store", {{"path", "some/store"}, {"sha256", "abc"}}}};
}

class CompareTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file(const std::string& name, const json& document) const {
    write_file(folder_ / name, document.dump());
    return folder_ / name;
  }

  TemporaryFolder folder_;
  std::vector<double> low_{60, 62, 58, 71, 66, 60};
  std::vector<double> high_{64, 65, 58, 76, 72, 59};
};

TEST_F(CompareTest, TakesThePairedDifferenceOfBToA) {
  const Comparison comparison = compare_files(file("a.json", result("vd", 1, low_)),
                                              file("b.json", result("deepvoro", 1, high_)))
                                    .at(0);
  EXPECT_EQ(comparison.a.method, "vd");
  EXPECT_EQ(comparison.b.method, "deepvoro");
  EXPECT_DOUBLE_EQ(comparison.accuracy_a.mean, estimate(low_).mean);
  EXPECT_DOUBLE_EQ(comparison.accuracy_b.ci95, estimate(high_).ci95);
  EXPECT_DOUBLE_EQ(comparison.difference.mean, paired_difference(high_, low_).mean);
  EXPECT_DOUBLE_EQ(comparison.difference.ci95, paired_difference(high_, low_).ci95);
  EXPECT_EQ(comparison.sign_test.positive, 4U);
  EXPECT_EQ(comparison.sign_test.negative, 1U);
  EXPECT_EQ(comparison.sign_test.ties, 1U);
  EXPECT_GT(comparison.t_test->t, 0);
}

TEST_F(CompareTest, SaysInWordsWhoIsBetter) {
  const auto a = read_results(file("a.json", result("vd", 1, std::vector<double>(90, 50)))).at(0);
  std::vector<double> wavering(90);
  for (std::size_t i = 0; i < wavering.size(); ++i) wavering[i] = i % 2 == 0 ? 48 : 53;
  RecordedResult b = a;
  EXPECT_EQ(compare(a, b).verdict(), "no difference can be claimed, p = 1");
  b.episode_accuracy = wavering;
  EXPECT_EQ(compare(a, b).verdict(), "no difference can be claimed, p = 0.0624");
  for (double& value : b.episode_accuracy) value += 1;
  EXPECT_EQ(compare(a, b).verdict(), "B is better, p < 0.001");
  EXPECT_EQ(compare(b, a).verdict(), "A is better, p < 0.001");
}

TEST_F(CompareTest, ClaimsNothingFromOneEpisode) {
  const Comparison comparison =
      compare_files(file("a.json", result("vd", 1, {10})), file("b.json", result("vd", 1, {90})))
          .at(0);
  EXPECT_FALSE(comparison.t_test);
  EXPECT_EQ(comparison.sign_test.p, 1);
  EXPECT_NE(comparison.verdict().find("no difference"), std::string::npos);
}

TEST_F(CompareTest, RefusesDifferentEpisodesAndNamesWhatDiffers) {
  const std::vector<std::pair<std::string, json>> changes{
      {"ways", 6},
      {"shots", 2},
      {"queries", 14},
      {"seed", 4},
      {"split", "val"},
      {"protocol", "deepvoro"},
      {"store", {{"path", "some/store"}, {"sha256", "abd"}}}};
  const auto a = file("a.json", result("vd", 1, low_));
  for (const auto& [key, value] : changes) {
    json other = result("vd", 1, low_);
    other[key] = value;
    const auto b = file("b.json", other);
    expect_error(ErrorKind::data, {a.string(), b.string(), key, "different episodes"},
                 [&] { (void)compare_files(a, b); });
  }
  const auto shorter = file("b.json", result("vd", 1, {50, 60}));
  expect_error(ErrorKind::data, {"episodes 6 and 2"}, [&] { (void)compare_files(a, shorter); });
}

TEST_F(CompareTest, DoesNotMindWhereTheStoreLies) {
  json moved = result("vd", 1, high_);
  moved["store"]["path"] = "elsewhere";
  EXPECT_EQ(compare_files(file("a.json", result("vd", 1, low_)), file("b.json", moved)).size(), 1U);
}

using Pairs = std::vector<std::array<std::string, 2>>;

Pairs methods(const std::vector<Comparison>& comparisons) {
  Pairs pairs;
  for (const Comparison& comparison : comparisons) {
    EXPECT_EQ(comparison.a.shape.shots, comparison.b.shape.shots);
    pairs.push_back({comparison.a.method, comparison.b.method});
  }
  return pairs;
}

TEST_F(CompareTest, ComparesWithinAFileWithTheFirstOfEachNumberOfShots) {
  const json list{result("vd", 1, low_), result("deepvoro", 1, high_),
                  result("deepvoro++", 1, low_), result("vd", 5, low_),
                  result("deepvoro", 5, high_)};
  EXPECT_EQ(methods(compare_within(file("list.json", list))),
            (Pairs{{"vd", "deepvoro"}, {"vd", "deepvoro++"}, {"vd", "deepvoro"}}));
}

TEST_F(CompareTest, FindsNothingToCompareWithinSingleResults) {
  expect_error(ErrorKind::data, {"a.json", "second file"},
               [&] { (void)compare_within(file("a.json", result("vd", 1, low_))); });
  const json list{result("vd", 1, low_), result("vd", 5, low_)};
  expect_error(ErrorKind::data, {"a.json", "second file"},
               [&] { (void)compare_within(file("a.json", list)); });
}

TEST_F(CompareTest, MatchesListsByShotsThenByMethod) {
  const json one_each{result("vd", 1, low_), result("vd", 5, low_)};
  const json other_order{result("deepvoro", 5, low_), result("deepvoro", 1, low_)};
  const json several{result("deepvoro", 1, low_), result("vd", 1, low_)};
  const auto a = file("a.json", one_each);
  EXPECT_EQ(methods(compare_files(a, file("b.json", other_order))),
            (Pairs{{"vd", "deepvoro"}, {"vd", "deepvoro"}}));
  EXPECT_EQ(methods(compare_files(file("c.json", result("x", 1, low_)), file("b.json", several))),
            (Pairs{{"x", "deepvoro"}, {"x", "vd"}}));
  EXPECT_EQ(methods(compare_files(file("b.json", several), file("b.json", several))),
            (Pairs{{"deepvoro", "deepvoro"}, {"vd", "vd"}}));
}

TEST_F(CompareTest, RefusesWhatCannotBeMatched) {
  const auto both = file("both.json", {result("vd", 1, low_), result("vd", 5, low_)});
  const auto one = file("one.json", result("deepvoro", 1, low_));
  const auto ten = file("ten.json", result("deepvoro", 10, low_));
  const auto several = file("several.json", {result("vd", 1, low_), result("power-lr", 1, low_)});
  const auto others = file("others.json", {result("vd", 1, low_), result("pt-ncm", 1, low_)});
  expect_error(ErrorKind::data, {"both.json: vd, 5-shot", "one.json", "no result with 5 shots"},
               [&] { (void)compare_files(one, both); });
  expect_error(ErrorKind::data, {"ten.json", "no result with 10 shots"},
               [&] { (void)compare_files(both, ten); });
  expect_error(ErrorKind::data, {"others.json: pt-ncm, 1-shot", "several results with 1 shots"},
               [&] { (void)compare_files(several, others); });
}

TEST_F(CompareTest, ComparesASingleResultWithAllOfItsShots) {
  const auto many = file("many.json", {result("vd", 1, low_), result("dc", 1, low_),
                                       result("vd", 5, low_), result("dc", 5, low_)});
  const auto one = file("one.json", result("deepvoro", 1, low_));
  EXPECT_EQ(methods(compare_files(many, one)), (Pairs{{"vd", "deepvoro"}, {"dc", "deepvoro"}}));
}

TEST_F(CompareTest, RefusesFilesThatAreNoResults) {
  const auto refuse = [&](const json& document, std::initializer_list<std::string_view> fragments) {
    SCOPED_TRACE(document.dump());
    const auto path = file("bad.json", document);
    expect_error(ErrorKind::data, {path.string()}, [&] { (void)read_results(path); });
    expect_error(ErrorKind::data, fragments, [&] { (void)read_results(path); });
  };
  const json intact = result("vd", 1, low_);
  for (const auto& [key, unused] : intact.items()) {
    json document = intact;
    document.erase(key);
    refuse(document, {"\"" + key + "\"", "missing"});
    document[key] = json::object();
    refuse(json::array({intact, document}), {"result 1", "\"" + key + "\""});
  }
  const std::vector<std::pair<std::string, std::vector<json>>> wrong = {
      {"format", {"deepvoro-pool", 1}},
      {"version", {2, "1"}},
      {"ways", {0, -5, 2.5, "5"}},
      {"seed", {-1, 0.5}},
      {"episodes", {7, 5, 0, 1e300}},
      {"episode_accuracy",
       {{60, 62, nullptr, 71, 66, 60},
        {60, 62, 58, 71, 66, 101},
        {60, 62, 58, 71, 66, "60"},
        {-1, 62, 58, 71, 66, 60},
        json::array(),
        "many"}},
      {"store", {"path", {{"path", "x"}}, {{"path", 1}, {"sha256", "abc"}}}}};
  for (const auto& [key, values] : wrong)
    for (const json& value : values) {
      json document = intact;
      document[key] = value;
      refuse(document,
             {"\"" +
              (key == "episodes" && value != 0 && value != 1e300 ? std::string("episode_accuracy")
                                                                 : key) +
              "\""});
    }
  refuse(json::array(), {"empty"});
  refuse("text", {"not an object"});
}

TEST_F(CompareTest, RefusesBrokenAndMissingFiles) {
  write_file(folder_ / "nan.json", R"({"format":"deepvoro-result","episode_accuracy":[NaN]})");
  expect_error(ErrorKind::data, {"nan.json", "not valid JSON"},
               [&] { (void)read_results(folder_ / "nan.json"); });
  expect_error(ErrorKind::data, {"none.json"}, [&] { (void)read_results(folder_ / "none.json"); });
}

TEST_F(CompareTest, WritesWhatItFound) {
  const auto comparisons = compare_files(file("a.json", result("vd", 1, low_)),
                                         file("b.json", result("deepvoro", 1, high_)));
  write_comparisons(comparisons, folder_ / "out.json");
  const json document = json::parse(test::read_file(folder_ / "out.json"));
  EXPECT_EQ(document["format"], "deepvoro-comparison");
  const json& first = document["comparisons"][0];
  EXPECT_EQ(first["a"]["method"], "vd");
  EXPECT_EQ(first["b"]["accuracy"], comparisons[0].accuracy_b.mean);
  EXPECT_EQ(first["difference"], comparisons[0].difference.mean);
  EXPECT_EQ(first["t_test"]["p"], comparisons[0].t_test->p);
  EXPECT_EQ(first["sign_test"]["won"], 4);
  EXPECT_EQ(first["verdict"], comparisons[0].verdict());
}

TEST_F(CompareTest, WritesNullForATestThatDoesNotExist) {
  write_comparisons(
      compare_files(file("a.json", result("vd", 1, {10})), file("b.json", result("vd", 1, {90}))),
      folder_ / "out.json");
  EXPECT_TRUE(
      json::parse(test::read_file(folder_ / "out.json"))["comparisons"][0]["t_test"].is_null());
}

}  // namespace
}  // namespace deepvoro
