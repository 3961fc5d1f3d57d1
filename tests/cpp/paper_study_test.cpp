#include "deepvoro/study/paper_study.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "ensemble/ensemble.hpp"
#include "expect_error.hpp"
#include "study/paper/kept_steps.hpp"
#include "study/paper/line_fit.hpp"
#include "study/paper/random_subsets.hpp"
#include "study/paper/registry.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using test::expect_error;
using test::read_file;
using test::TemporaryFolder;
using test::write_file;

class PaperStudyTest : public ::testing::Test {
 protected:
  PaperStudyTest() { test::write_store(store_, test::noisy_splits()); }

  [[nodiscard]] StudyRequest request(const std::string& study) const {
    return {.study = study,
            .stores = {store_},
            .plan = {.shape = {.ways = 4, .queries = 4}, .count = 20, .seed = 5},
            .threads = 2};
  }
  // All files of a study but those that were kept.
  [[nodiscard]] static std::map<std::string, std::string> written(
      const std::filesystem::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.is_regular_file()) files[entry.path().filename()] = read_file(entry.path());
    return files;
  }

  TemporaryFolder folder_;
  std::filesystem::path store_ = folder_ / "store";
  std::filesystem::path out_ = folder_ / "paper";
};

TEST_F(PaperStudyTest, EveryStudyWritesWhatItsTablesSay) {
  for (const StudyDescription& study : paper_studies()) {
    const StudyResult result = run_study(request(std::string(study.name)), out_);
    const json document = json::parse(read_file(out_ / (std::string(study.name) + ".json")));
    EXPECT_EQ(document["study"], study.name);
    EXPECT_EQ(result.files.size(), 1 + document["tables"].size());
    for (const json& table : document["tables"]) {
      EXPECT_FALSE(table["rows"].empty()) << study.name << " " << table["name"];
      EXPECT_EQ(table["columns"][0]["name"], "store");
      std::set<std::string> columns;
      for (const json& column : table["columns"]) columns.insert(column["name"]);
      EXPECT_EQ(columns.size(), table["columns"].size()) << "a column twice in " << table["name"];
      for (const json& row : table["rows"]) EXPECT_EQ(row.size(), columns.size());
    }
  }
}

TEST_F(PaperStudyTest, AStudyThatWasStoppedGoesOnToTheSameBytes) {
  for (const char* name : {"members", "ensemble-size", "ablation", "embedding"}) {
    const StudyResult whole = run_study(request(name), folder_ / "whole");
    const auto expected = written(folder_ / "whole");
    std::filesystem::remove_all(folder_ / "whole");
    std::size_t stops = 0;
    StudyResult result;
    for (std::size_t allowed = 1; allowed > 0;) {
      StudyRequest again = request(name);
      again.threads = 1 + static_cast<unsigned>(stops % 2);
      std::size_t calls = 0;
      const auto stop = [&](double) {
        if (++calls > 3 * allowed) throw std::runtime_error("stopped");
      };
      try {
        result = run_study(again, folder_ / "whole", stop);
        allowed = 0;
      } catch (const std::runtime_error& error) {
        ASSERT_STREQ(error.what(), "stopped");
        ++stops;
        ++allowed;
      }
    }
    EXPECT_GT(stops, 0U) << name;
    EXPECT_GT(result.kept_steps, 0U) << name;
    EXPECT_EQ(result.steps, whole.steps) << name;
    auto found = written(folder_ / "whole");
    EXPECT_EQ(found.size(), expected.size());
    for (const auto& [file, bytes] : expected) EXPECT_EQ(found[file], bytes) << file;
    std::filesystem::remove_all(folder_ / "whole");
  }
}

TEST_F(PaperStudyTest, StudiesShareTheirSteps) {
  const StudyResult first = run_study(request("members"), out_);
  EXPECT_EQ(first.kept_steps, 0U);
  EXPECT_EQ(run_study(request("members"), out_).kept_steps, first.steps);
  EXPECT_GT(run_study(request("ensemble-size"), out_).kept_steps, 0U);
  StudyRequest another_seed = request("members");
  another_seed.plan.seed = 6;
  EXPECT_EQ(run_study(another_seed, out_).kept_steps, 0U);
}

TEST_F(PaperStudyTest, TimesAreMeasuredAnew) {
  EXPECT_EQ(run_study(request("time"), out_).kept_steps, 0U);
  EXPECT_EQ(run_study(request("time"), out_).kept_steps, 0U);
}

TEST_F(PaperStudyTest, ShotsThatWereNotAskedForAreLeftOutWhereClassesAreSmall) {
  run_study(request("shots"), out_);
  std::set<std::size_t> shots;
  const json document = json::parse(read_file(out_ / "shots.json"));
  for (const json& row : document["tables"][0]["rows"]) shots.insert(row[2].get<std::size_t>());
  EXPECT_EQ(shots, (std::set<std::size_t>{1, 2, 3, 5}));  // classes have 12 samples, 4 are queries
  StudyRequest asked = request("shots");
  asked.shots = {10};
  expect_error(ErrorKind::data, {"12"}, [&] { run_study(asked, out_); });
}

TEST_F(PaperStudyTest, BadRequestsLeaveNothing) {
  StudyRequest unknown = request("membres");
  expect_error(ErrorKind::usage, {"membres", "members"}, [&] { run_study(unknown, out_); });
  StudyRequest twice = request("joint");
  twice.stores.push_back(store_);
  expect_error(ErrorKind::usage, {"two stores", "store"}, [&] { run_study(twice, out_); });
  StudyRequest again = request("joint");
  again.shots = {1, 1};
  expect_error(ErrorKind::usage, {"`shots`", "twice"}, [&] { run_study(again, out_); });
  StudyRequest none = request("joint");
  none.stores.clear();
  expect_error(ErrorKind::usage, {"store"}, [&] { run_study(none, out_); });
  StudyRequest pairless = request("outliers");
  pairless.shots = {1};
  expect_error(ErrorKind::usage, {"`shots` 1", "2"}, [&] { run_study(pairless, out_); });
  std::filesystem::remove_all(store_ / "val");
  expect_error(ErrorKind::data, {"val"}, [&] { run_study(request("members"), out_); });
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(PaperStudyTest, RandomSubsetsAreThoseOfTheRandomScheme) {
  const FeatureStore store(store_);
  const EpisodePlan plan{.shape = {.ways = 4, .shots = 1, .queries = 4}, .count = 40};
  const EpisodeList episodes = draw_episodes(store, "novel", plan);
  const EpisodeSetting setting{store, "novel", episodes, Influence(1), 2};
  const Pool pool = default_pool(Method::deepvoro_plus_plus, store);
  const std::vector<std::size_t> sizes{1, 3, 17, pool.size()};
  const auto found = correct_of_random_subsets(setting, pool, sizes, 3, 7);
  ASSERT_EQ(found.size(), 3U);
  for (std::uint32_t draw = 0; draw < 3; ++draw)
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      const auto expected =
          estimate(evaluate_ensemble(setting, Selection::random(pool, sizes[s], 7 + draw)));
      EXPECT_NEAR(100.0 * static_cast<double>(found[draw][s]) / (40 * 16), expected.mean, 1e-9)
          << "draw " << draw << ", size " << sizes[s];
    }
}

TEST(KeptSteps, AreFoundByTheirKey) {
  const TemporaryFolder folder;
  const KeptSteps steps(folder / "steps");
  const json key = {{"a", 1}};
  EXPECT_FALSE(steps.find(key));
  steps.keep(key, {{"x", 0.1}});
  EXPECT_EQ(steps.find(key), (json{{"x", 0.1}}));
  EXPECT_FALSE(steps.find({{"a", 2}}));
  steps.forget(key);
  EXPECT_FALSE(steps.find(key));
}

TEST(KeptSteps, DamagedOnesAreRefused) {
  const TemporaryFolder folder;
  const KeptSteps steps(folder / "steps");
  const json key = {{"a", 1}};
  steps.keep(key, 12345);
  const auto file = std::filesystem::directory_iterator(folder / "steps")->path();
  std::string text = read_file(file);
  text.replace(text.find("12345"), 5, "12346");
  for (const std::string& damaged : {text, std::string("{"), std::string("[]"), std::string()}) {
    write_file(file, damaged);
    expect_error(ErrorKind::data, {file.string(), "delete"}, [&] { (void)steps.find(key); });
  }
}

TEST(StudyTable, QuotesWhatCsvNeeds) {
  StudyTable table{"t", "T", {{"a", "A"}, {"b", "B", "%"}}};
  table.add({"x,\"y\"", 0.1});
  table.add({nullptr, true});
  EXPECT_EQ(csv_text(table), "a,b\n\"x,\"\"y\"\"\",0.1\n,true\n");
  EXPECT_EQ(json::parse(json_text(table))["rows"], (json{{"x,\"y\"", 0.1}, {nullptr, true}}));
  expect_error(ErrorKind::internal, {"t", "1", "2"}, [&] { table.add({1}); });
}

TEST(LineFit, IsThatOfLeastSquares) {
  const std::vector<double> x{0, 1, 2, 3};
  const LineFit exact = fit_line(x, std::vector<double>{5, 3, 1, -1});
  EXPECT_DOUBLE_EQ(exact.slope, -2);
  EXPECT_DOUBLE_EQ(exact.r, -1);
  EXPECT_NEAR(exact.slope_ci95, 0, 1e-7);
  // Residuals -0.5, 1, -0.5, 0: the sum of squares is 1.5.
  const LineFit rough = fit_line(x, std::vector<double>{0, 2, 1, 2});
  EXPECT_DOUBLE_EQ(rough.slope, 0.5);
  EXPECT_NEAR(rough.slope_ci95, 1.96 * std::sqrt(1.5 / 2 / 5), 1e-12);
  EXPECT_EQ(fit_line(x, std::vector<double>{1, 1, 1, 1}).r, 0);
}

}  // namespace
}  // namespace deepvoro
