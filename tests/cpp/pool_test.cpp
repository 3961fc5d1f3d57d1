#include "deepvoro/ensemble/pool.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
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

const std::vector<std::string> kViews{"s84_r0_f0", "s84_r0_f1", "s90_r90_f0"};

Pool default_pool_of(Method method) {
  const TemporaryFolder folder;
  test::write_store(folder.path(), {{"novel", test::random_split({.views = kViews})}});
  return default_pool(method, FeatureStore(folder.path()));
}

TEST(DefaultPool, OfVdIsTheSquareRootOfTheFirstView) {
  EXPECT_EQ(default_pool_of(Method::vd), (Pool{{kViews[0], {.lambda = 0.5}, Voronoi{}}}));
}

TEST(DefaultPool, OfDeepvoroIsEveryViewTimesEightTransformations) {
  const Pool pool = default_pool_of(Method::deepvoro);
  ASSERT_EQ(pool.size(), 3U * 8);
  for (std::size_t i = 0; i < pool.size(); ++i) {
    EXPECT_EQ(pool[i].view, kViews[i / 8]);
    EXPECT_EQ(pool[i].transform, eight_transforms(0.02)[i % 8]);
    EXPECT_NE(pool[i].geometry.as<Voronoi>(), nullptr);
  }
}

TEST(DefaultPool, OfDeepvoroPlusPlusIsEveryViewTimesTwoTransformationsTimesTenR) {
  const std::vector<double> published_beta{7, 5.5, 4.5, 4, 4, 3.5, 3.5, 3, 3, 3};
  const Pool pool = default_pool_of(Method::deepvoro_plus_plus);
  ASSERT_EQ(pool.size(), 3U * 2 * 10);
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const bool is_log = i / 10 % 2 == 1;
    EXPECT_EQ(pool[i].view, kViews[i / 20]);
    EXPECT_EQ(pool[i].transform,
              (is_log ? Transform{.b = 0.08, .lambda = 0} : Transform{.lambda = 0.75}));
    EXPECT_EQ(pool[i].geometry,
              Geometry(Surrogate{.R = i % 10 + 1, .beta = published_beta[i % 10], .gamma = 1}));
  }
}

TEST(MemberId, IsUniqueInEveryDefaultPool) {
  std::set<std::string> ids;
  std::size_t members = 0;
  for (const Method method : {Method::deepvoro, Method::deepvoro_plus_plus})
    for (const Member& member : default_pool_of(method)) {
      ids.insert(member.id());
      ++members;
    }
  EXPECT_EQ(ids.size(), members);
}

TEST(MemberId, DependsOnEveryParameter) {
  const std::vector<Member> different{
      {"a", {}, Voronoi{}},
      {"b", {}, Voronoi{}},
      {"a", {.w = 2}, Voronoi{}},
      {"a", {.b = 0.1}, Voronoi{}},
      {"a", {.lambda = 0.5}, Voronoi{}},
      {"a", {.is_signed = true}, Voronoi{}},
      {"a", {}, Surrogate{}},
      {"a", {}, Surrogate{.R = 2}},
      {"a", {}, Surrogate{.beta = 2}},
      {"a", {}, Surrogate{.gamma = 2}},
      {"a", {}, Plda{}},
      {"a", {}, Plda{.shrink_within = 0.1}},
      {"a", {}, Plda{.shrink_between = 0.1}},
      {"a", {}, Plda{.kappa = 3}},
      {"a", {}, Voronoi{}, 2},
  };
  std::set<std::string> ids;
  for (const Member& member : different) ids.insert(member.id());
  EXPECT_EQ(ids.size(), different.size());
}

TEST(Method, IsNamedBothWays) {
  EXPECT_EQ(method_named("deepvoro++"), Method::deepvoro_plus_plus);
  for (const Method method : {Method::vd, Method::deepvoro, Method::deepvoro_plus_plus})
    EXPECT_EQ(method_named(name(method)), method);
  expect_error(ErrorKind::usage, {"`method`", "voodoo"}, [] { (void)method_named("voodoo"); });
}

TEST(Picked, TakesMembersInTheOrderGiven) {
  const Pool pool{{"a", {}, Voronoi{}}, {"b", {}, Voronoi{}}, {"c", {}, Voronoi{}}};
  EXPECT_EQ(picked(pool, std::vector<std::size_t>{2, 0}), (Pool{pool[2], pool[0]}));
}

TEST(PoolFile, RoundTripsEveryParameter) {
  const TemporaryFolder folder;
  const Pool pool{{"s84_r0_f0", {.w = 1.5, .b = 0.1 + 0.2, .lambda = 0.75}, Voronoi{}},
                  {"x", {.b = 1.0 / 3, .lambda = 0, .is_signed = true}, Voronoi{}},
                  {"s84_r0_f0", {.lambda = -1}, Surrogate{.R = 3, .beta = 4.5, .gamma = 0.1}},
                  {"mean", {.lambda = 0.5}, Plda{0.3, 0.1, 2.5}, 7.25}};
  write_pool(pool, folder / "pool.json");
  EXPECT_EQ(read_pool(folder / "pool.json"), pool);
}

TEST(PoolFile, IsReadAsTheContractShowsIt) {
  const TemporaryFolder folder;
  write_file(folder / "pool.json", R"({"format":"deepvoro-pool","version":1,"members":[
    {"view":"s84_r0_f0","w":1.0,"b":0.0,"lambda":0.5,"geometry":"vd"},
    {"view":"s84_r0_f1","w":1.0,"b":0.04,"lambda":0,"geometry":"surrogate","R":3,"beta":4.5,"gamma":1.0},
    {"view":"s84_r0_f1","w":1.0,"b":0.04,"lambda":0,"geometry":"surrogate","R":3,"beta":4.5}]})");
  const Member surrogate{"s84_r0_f1", {.b = 0.04, .lambda = 0}, Surrogate{.R = 3, .beta = 4.5}};
  EXPECT_EQ(read_pool(folder / "pool.json"),
            (Pool{{"s84_r0_f0", {.lambda = 0.5}, Voronoi{}}, surrogate, surrogate}));
}

TEST(PoolFile, MaySayHowItWasTuned) {
  const TemporaryFolder folder;
  write_file(folder / "pool.json", R"({"format":"deepvoro-pool","version":1,
    "tuning":{"split":"val","grid":{"lambdas":[0.5]}},"members":[
    {"view":"a","w":1.0,"b":0.0,"lambda":0.5,"geometry":"vd","val_accuracy":71.25}]})");
  EXPECT_EQ(read_pool(folder / "pool.json"), (Pool{{"a", {.lambda = 0.5}, Voronoi{}}}));
}

TEST(PoolFile, HasTheNumberOfShotsItWasTunedWithWhereItSaysSo) {
  const TemporaryFolder folder;
  const auto shots_in = [&](const char* text) {
    write_file(folder / "pool.json", text);
    return tuned_shots(folder / "pool.json");
  };
  EXPECT_EQ(shots_in(R"({"tuning":{"shots":5},"members":[]})"), 5U);
  for (const char* silent : {R"({"members":[]})", R"({"tuning":5})", R"({"tuning":{"ways":5}})",
                             R"({"tuning":{"shots":"5"}})", R"({"tuning":{"shots":-5}})", "[]"})
    EXPECT_EQ(shots_in(silent), std::nullopt) << silent;
}

class BrokenPoolFile : public ::testing::Test {
 protected:
  void expect_refused(const json& document, std::initializer_list<std::string_view> fragments) {
    SCOPED_TRACE(document.dump());
    expect_text_refused(document.dump(), fragments);
  }
  void expect_text_refused(const std::string& text,
                           std::initializer_list<std::string_view> fragments) {
    write_file(file_, text);
    expect_error(ErrorKind::data, {file_.string()}, [&] { (void)read_pool(file_); });
    expect_error(ErrorKind::data, fragments, [&] { (void)read_pool(file_); });
  }
  void expect_second_member_refused(const json& member, const std::string& key) {
    json document = intact_;
    document["members"].push_back(member);
    expect_refused(document, {"member 1", "\"" + key + "\""});
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "pool.json";
  json voronoi_ = {{"view", "a"}, {"w", 1}, {"b", 0}, {"lambda", 0.5}, {"geometry", "vd"}};
  json surrogate_ = {
      {"view", "a"}, {"w", 1},    {"b", 0},     {"lambda", 0.5},  {"geometry", "surrogate"},
      {"R", 2},      {"beta", 3}, {"gamma", 1}, {"signed", false}};
  json intact_ = {{"format", "deepvoro-pool"}, {"version", 1}, {"members", {voronoi_}}};
};

TEST_F(BrokenPoolFile, IsRefusedWithTheNameOfTheKeyAtTheTop) {
  for (const char* key : {"format", "version", "members"}) {
    json document = intact_;
    document.erase(key);
    expect_refused(document, {std::string("\"") + key + "\""});
    document[key] = "nonsense";
    expect_refused(document, {std::string("\"") + key + "\""});
  }
  json empty = intact_;
  empty["members"] = json::array();
  expect_refused(empty, {"\"members\""});
  expect_refused(json::array(), {"\"format\""});
}

TEST_F(BrokenPoolFile, IsRefusedWithTheNameOfTheKeyOfAMember) {
  const std::vector<std::pair<std::string, std::vector<json>>> wrong = {
      {"view", {1, nullptr, json::array()}},
      {"w", {"1", nullptr, true}},
      {"b", {"0", nullptr, json::array()}},
      {"lambda", {"log", nullptr}},
      {"geometry", {"power", 1, ""}},
      {"R", {0, -1, 1.5, "3"}},
      {"beta", {-1, "3", 1e10}},
      {"gamma", {-0.5, "1", nullptr, 1e308}},
      {"signed", {0, "yes"}},
      {"weight", {-1, 0, "2", nullptr, 1e10}},
      {"val_accuracy", {-1, "high", nullptr}},
  };
  for (const auto& [key, values] : wrong)
    for (const json& value : values) {
      json member = surrogate_;
      member[key] = value;
      expect_second_member_refused(member, key);
    }
}

TEST_F(BrokenPoolFile, IsRefusedWithTheNameOfTheKeyThatIsMissing) {
  for (const char* key : {"view", "w", "b", "lambda", "geometry", "R", "beta"}) {
    json member = surrogate_;
    member.erase(key);
    expect_second_member_refused(member, key);
  }
}

TEST_F(BrokenPoolFile, IsRefusedWhenAMemberIsNoObject) {
  json document = intact_;
  document["members"].push_back("a");
  expect_refused(document, {"member 1", "not an object"});
}

TEST_F(BrokenPoolFile, IsRefusedWhenItIsNoJson) {
  expect_text_refused("", {"not valid JSON"});
  expect_text_refused("{\"format\": \"deepvoro-pool\", ", {"not valid JSON at byte"});
  expect_text_refused(R"({"format":"deepvoro-pool","version":1e999})", {"out of range"});
  expect_error(ErrorKind::data, {"missing.json"},
               [&] { (void)read_pool(folder_ / "missing.json"); });
}

}  // namespace
}  // namespace deepvoro
