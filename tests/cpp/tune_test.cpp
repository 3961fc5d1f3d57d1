#include "deepvoro/study/tune.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/sha256.hpp"
#include "ensemble/ensemble.hpp"
#include "expect_error.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using nlohmann::json;
using test::expect_error;
using test::random_split;
using test::read_file;
using test::TemporaryFolder;
using test::write_file;

class TuneTest : public ::testing::Test {
 protected:
  TuneTest() { test::write_store(store_, test::noisy_splits()); }

  [[nodiscard]] static Tuning request(Method method) {
    return {.method = method,
            .plan = {.shape = {.ways = 4, .shots = 1, .queries = 4}, .count = 30},
            .grid = {.lambdas = {2, 0, 0.5, 1},
                     .biases = {0.5, 0.02},
                     .neighbours = {1, 3},
                     .betas = {4, 0.5, 2}},
            .threads = 2};
  }
  TuningResult run(const Tuning& tuning, const Progress& progress = {}) const {
    return tune(FeatureStore(store_), tuning, out_, progress);
  }
  // The accuracy of one member, by way of a whole evaluation.
  [[nodiscard]] double val_accuracy(const Member& member) const {
    const FeatureStore store(store_);
    const EpisodeList episodes = draw_episodes(store, "val", request(Method::vd).plan);
    const EpisodeSetting setting{store, "val", episodes, Influence(1), 1};
    return estimate(evaluate_ensemble(setting, Selection::full({member}))).mean;
  }
  [[nodiscard]] json checkpoint() const { return json::parse(read_file(checkpoint_)); }
  // Stops in the middle of the step after `steps` finished ones.
  void run_until(const Tuning& tuning, std::size_t steps) const {
    const auto interrupt = [&](double) {
      if (checkpoint()["steps"].size() == steps) throw std::runtime_error("interrupted");
    };
    EXPECT_THROW(run(tuning, interrupt), std::runtime_error);
  }

  TemporaryFolder folder_;
  std::filesystem::path store_ = folder_ / "store";
  std::filesystem::path out_ = folder_ / "pool.json";
  std::filesystem::path checkpoint_ = folder_ / "pool.json.partial";
  std::vector<std::string> views_{"s84_r0_f0", "s84_r0_f1"};
};

TEST_F(TuneTest, RanksTransformationsByTheMeanOfTheViews) {
  Tuning tuning = request(Method::deepvoro);
  tuning.top_k = 3;
  const TuningResult result = run(tuning);
  ASSERT_EQ(result.transforms.size(), 5U);
  for (const TriedTransform& tried : result.transforms)
    EXPECT_NEAR(tried.val_accuracy,
                (val_accuracy({views_[0], tried.transform, Voronoi{}}) +
                 val_accuracy({views_[1], tried.transform, Voronoi{}})) /
                    2,
                1e-9)
        << tried.transform.id();
  EXPECT_TRUE(
      std::ranges::is_sorted(result.transforms, std::greater{}, &TriedTransform::val_accuracy));
  EXPECT_GT(result.transforms.front().val_accuracy, result.transforms.back().val_accuracy);
  ASSERT_EQ(result.members.size(), 2U * 3);
  for (std::size_t i = 0; i < result.members.size(); ++i) {
    EXPECT_EQ(result.members[i],
              (Member{views_[i / 3], result.transforms[i % 3].transform, Voronoi{}}));
    EXPECT_NEAR(result.member_val_accuracy[i], val_accuracy(result.members[i]), 1e-9);
  }
}

TEST_F(TuneTest, TakesForEachRTheBestBeta) {
  const TuningResult result = run(request(Method::deepvoro_plus_plus));
  ASSERT_EQ(result.surrogates.size(), 2U * 3);
  for (const TriedSurrogate& tried : result.surrogates) {
    double sum = 0;
    for (const std::string& view : views_)
      for (std::size_t k = 0; k < 2; ++k)
        sum += val_accuracy({view, result.transforms[k].transform, tried.surrogate});
    EXPECT_NEAR(tried.val_accuracy, sum / 4, 1e-9);
  }
  std::vector<Surrogate> chosen;
  for (std::size_t first = 0; first < 6; first += 3) {
    const std::span of_R(&result.surrogates[first], 3);
    const auto best = std::ranges::max_element(of_R, {}, &TriedSurrogate::val_accuracy);
    EXPECT_EQ(std::ranges::count(of_R, true, &TriedSurrogate::is_chosen), 1);
    EXPECT_TRUE(best->is_chosen);
    chosen.push_back(best->surrogate);
  }
  ASSERT_EQ(result.members.size(), 2U * 2 * 2);
  for (std::size_t i = 0; i < result.members.size(); ++i) {
    EXPECT_EQ(result.members[i],
              (Member{views_[i / 4], result.transforms[i / 2 % 2].transform, chosen[i % 2]}));
    EXPECT_NEAR(result.member_val_accuracy[i], val_accuracy(result.members[i]), 1e-9);
  }
}

TEST_F(TuneTest, GivesTiesToTheSmallerBeta) {
  Tuning tuning = request(Method::deepvoro_plus_plus);
  // The surrogates add nothing that could weigh against so much of the distances.
  tuning.grid.betas = {3e8, 1e8, 2e8};
  for (const TriedSurrogate& tried : run(tuning).surrogates)
    EXPECT_EQ(tried.is_chosen, tried.surrogate.beta == 1e8);
}

TEST_F(TuneTest, GivesVdItsBestTransformationOfTheFirstView) {
  const TuningResult result = run(request(Method::vd));
  ASSERT_EQ(result.members.size(), 1U);
  EXPECT_EQ(result.members[0].view, views_[0]);
  for (const TriedTransform& tried : result.transforms)
    EXPECT_LE(val_accuracy({views_[0], tried.transform, Voronoi{}}),
              result.member_val_accuracy[0] + 1e-9);
}

TEST_F(TuneTest, TakesTheViewsItIsGiven) {
  Tuning tuning = request(Method::deepvoro);
  tuning.views = {views_[1]};
  for (const Member& member : run(tuning).members) EXPECT_EQ(member.view, views_[1]);
}

TEST_F(TuneTest, ContainsThePublishedValuesInItsGrid) {
  const TuningGrid grid;
  for (const double b0 : {0.02, 0.1, 0.5})
    for (const Transform& published : eight_transforms(b0)) {
      const auto& values = published.lambda == 0 ? grid.biases : grid.lambdas;
      const double value = published.lambda == 0 ? published.b : published.lambda;
      EXPECT_TRUE(std::ranges::any_of(values, [&](double v) {
        return std::abs(v - value) < 1e-12;
      })) << published.id();
    }
  for (const double beta : {7.0, 5.5, 4.5, 4.0, 3.5, 3.0, 2.5, 2.0, 5.0, 6.0})
    EXPECT_EQ(std::ranges::count(grid.betas, beta), 1) << beta;
  EXPECT_EQ(grid.neighbours.size(), 10U);
}

TEST_F(TuneTest, WritesAPoolThatCanBeReadAndNothingElse) {
  const TuningResult result = run(request(Method::deepvoro_plus_plus));
  EXPECT_EQ(read_pool(out_), result.members);
  EXPECT_EQ(folder_.file_names(), (std::vector<std::string>{"pool.json", "store"}));
  const json document = json::parse(read_file(out_));
  EXPECT_EQ(document["tuning"]["split"], "val");
  EXPECT_EQ(document["tuning"]["store"]["sha256"], FeatureStore(store_).sha256(1));
  EXPECT_EQ(document["members"][3]["val_accuracy"], result.member_val_accuracy[3]);
}

TEST_F(TuneTest, DoesNotDependOnThreads) {
  for (const Method method : {Method::vd, Method::deepvoro, Method::deepvoro_plus_plus}) {
    Tuning tuning = request(method);
    tuning.threads = 1;
    run(tuning);
    const std::string alone = read_file(out_);
    tuning.threads = 5;
    run(tuning);
    EXPECT_EQ(read_file(out_), alone);
  }
}

TEST_F(TuneTest, DoesNotDependOnTheOrderInWhichValuesAreGiven) {
  Tuning tuning = request(Method::deepvoro_plus_plus);
  run(tuning);
  const std::string first = read_file(out_);
  std::ranges::reverse(tuning.grid.lambdas);
  std::ranges::reverse(tuning.grid.betas);
  std::ranges::reverse(tuning.grid.neighbours);
  run(tuning);
  EXPECT_EQ(read_file(out_), first);
}

TEST_F(TuneTest, NeverLooksAtTheNovelSplit) {
  const Pool before = run(request(Method::deepvoro_plus_plus)).members;
  for (const std::string& view : views_)
    write_file(store_ / "novel" / (view + ".npy"), "not even an array");
  EXPECT_EQ(run(request(Method::deepvoro_plus_plus)).members, before);
}

TEST_F(TuneTest, GoesOnWhereItWasInterrupted) {
  const Tuning tuning = request(Method::deepvoro_plus_plus);
  run(tuning);
  const std::string uninterrupted = read_file(out_);
  for (std::size_t steps = 0; steps < 4; ++steps) {
    std::filesystem::remove(out_);
    run_until(tuning, steps);
    EXPECT_FALSE(std::filesystem::exists(out_));
    EXPECT_EQ(std::filesystem::exists(checkpoint_), steps > 0);
    if (steps > 0) {
      EXPECT_EQ(checkpoint()["steps"].size(), steps);
    }
    double first_fraction = -1;
    const TuningResult result = run(tuning, [&](double fraction) {
      if (first_fraction < 0) first_fraction = fraction;
    });
    EXPECT_EQ(result.resumed_steps, steps);
    EXPECT_EQ(result.steps, 4U);
    EXPECT_EQ(first_fraction > 0, steps > 0);
    EXPECT_EQ(read_file(out_), uninterrupted);
    EXPECT_FALSE(std::filesystem::exists(checkpoint_));
  }
}

TEST_F(TuneTest, MayBeInterruptedAgainAndAgainWithOtherThreads) {
  Tuning tuning = request(Method::deepvoro_plus_plus);
  run(tuning);
  const std::string uninterrupted = read_file(out_);
  for (std::size_t steps = 0; steps < 4; ++steps) {
    tuning.threads = 1 + static_cast<unsigned>(steps);
    run_until(tuning, steps);
  }
  EXPECT_EQ(run(tuning).resumed_steps, 3U);
  EXPECT_EQ(read_file(out_), uninterrupted);
}

TEST_F(TuneTest, DoesNotRepeatWhatIsDone) {
  Tuning tuning = request(Method::deepvoro);
  tuning.top_k = 1;
  const Transform honest = run(tuning).transforms.front().transform;
  run_until(tuning, 1);
  // A falsified step, with a checksum that fits it, would go unnoticed only if it is not repeated.
  json forged = checkpoint();
  const std::uint64_t queries = std::uint64_t{30} * 4 * 4;
  const std::size_t other = honest.lambda == 2 ? 0 : 4;
  forged["steps"][0] = std::vector<std::uint64_t>(5, 0);
  forged["steps"][0][other] = queries;
  const std::string text = forged["request"].dump() + forged["steps"].dump();
  forged["sha256"] = sha256_hex(std::as_bytes(std::span(text)));
  write_file(checkpoint_, forged.dump());
  const TuningResult result = run(tuning);
  EXPECT_NE(result.transforms.front().transform, honest);
  EXPECT_EQ(result.member_val_accuracy.front(), 100);
}

TEST_F(TuneTest, RefusesTheCheckpointOfAnotherRun) {
  const Tuning tuning = request(Method::deepvoro_plus_plus);
  run_until(tuning, 2);
  const std::string before = read_file(checkpoint_);
  const auto expect_refused = [&](const Tuning& other, const char* what) {
    expect_error(ErrorKind::data, {checkpoint_.string(), "another run", what, "delete"},
                 [&] { run(other); });
    EXPECT_EQ(read_file(checkpoint_), before);
  };
  Tuning other = tuning;
  other.plan.seed = 1;
  expect_refused(other, "seed 0, not 1");
  other = tuning;
  other.plan.shape.shots = 2;
  expect_refused(other, "shots 1, not 2");
  other = tuning;
  other.method = Method::deepvoro;
  expect_refused(other, "grid");
  other = tuning;
  other.grid.betas = {1};
  expect_refused(other, "grid");
  other = tuning;
  other.is_signed = true;
  expect_refused(other, "signed");
  other = tuning;
  other.views = {views_[1]};
  expect_refused(other, "views");
  test::write_store(store_,
                    {{"base", random_split({.seed = 1})}, {"val", random_split({.seed = 7})}});
  expect_refused(tuning, "store");
}

TEST_F(TuneTest, RefusesADamagedCheckpoint) {
  const Tuning tuning = request(Method::deepvoro);
  run_until(tuning, 1);
  const std::string intact = read_file(checkpoint_);
  const auto expect_refused = [&](const std::string& text) {
    SCOPED_TRACE(text);
    write_file(checkpoint_, text);
    expect_error(ErrorKind::data, {checkpoint_.string(), "damaged", "delete"},
                 [&] { run(tuning); });
    EXPECT_EQ(read_file(checkpoint_), text);
    EXPECT_FALSE(std::filesystem::exists(out_));
  };
  for (const char* text : {"", "{}", "[]", "7", "{\"format\":\"deepvoro-pool\"}"})
    expect_refused(text);
  expect_refused(intact.substr(0, intact.size() / 2));
  json changed = json::parse(intact);
  changed["steps"][0][0] = changed["steps"][0][0].get<int>() + 1;
  expect_refused(changed.dump());
  for (const json& steps : {json("many"), json(), json{1, 2}, json{{-1, 2}}, json{{"a"}}}) {
    changed["steps"] = steps;
    expect_refused(changed.dump());
  }
  changed = json::parse(intact);
  changed.erase("sha256");
  expect_refused(changed.dump());
}

TEST_F(TuneTest, RefusesStepsThatDoNotFitEvenWithTheirChecksum) {
  const Tuning tuning = request(Method::deepvoro);
  run_until(tuning, 1);
  json forged = checkpoint();
  for (const char* text :
       {"[[1,2,3]]", "[[1,2,3,4,481]]", "[[]]", "[[1,2,3,4,5],[1,2,3,4,5],[1,2,3,4,5]]"}) {
    const json steps = json::parse(text);
    forged["steps"] = steps;
    const std::string summed = forged["request"].dump() + steps.dump();
    forged["sha256"] = sha256_hex(std::as_bytes(std::span(summed)));
    write_file(checkpoint_, forged.dump());
    expect_error(ErrorKind::data, {checkpoint_.string(), "damaged"}, [&] { run(tuning); });
  }
}

TEST_F(TuneTest, ChecksTheRequest) {
  const auto expect_refused = [&](const Tuning& tuning, std::string_view fragment) {
    expect_error(ErrorKind::usage, {fragment}, [&] { run(tuning); });
    EXPECT_FALSE(std::filesystem::exists(checkpoint_));
  };
  const Tuning intact = request(Method::deepvoro);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<double>& wrong : {std::vector<double>{}, {1, 1}, {nan}, {1e10}}) {
    Tuning tuning = intact;
    tuning.grid.lambdas = wrong;
    expect_refused(tuning, "`lambdas`");
    tuning = intact;
    tuning.grid.biases = wrong;
    expect_refused(tuning, "`biases`");
    tuning = intact;
    tuning.grid.betas = wrong;
    expect_refused(tuning, "`betas`");
  }
  Tuning tuning = intact;
  tuning.grid.betas = {-1};
  expect_refused(tuning, "`betas`");
  tuning = intact;
  tuning.grid.neighbours = {0};
  expect_refused(tuning, "`neighbours`");
  tuning = intact;
  for (const std::size_t top_k : {0U, 6U}) {
    tuning.top_k = top_k;
    expect_refused(tuning, "1 to 5");
  }
  tuning = request(Method::vd);
  tuning.views = views_;
  expect_refused(tuning, "`method` vd");
  tuning = intact;
  tuning.threads = 0;
  expect_refused(tuning, "`threads`");
  tuning = intact;
  tuning.views = {views_[0], views_[0]};
  expect_refused(tuning, "`views`");
}

TEST_F(TuneTest, ChecksTheStoreAndTheOutput) {
  Tuning tuning = request(Method::deepvoro);
  tuning.views = {"s1_r0_f0"};
  expect_error(ErrorKind::data, {"s1_r0_f0", views_[0]}, [&] { run(tuning); });
  tuning.views.clear();
  expect_error(ErrorKind::data, {"nowhere"}, [&] {
    (void)tune(FeatureStore(store_), tuning, folder_ / "nowhere" / "pool.json");
  });
  expect_error(ErrorKind::usage, {"`out`", "regular file"},
               [&] { (void)tune(FeatureStore(store_), tuning, store_); });
  const TemporaryFolder bare;
  test::write_store(bare.path(), {{"novel", random_split({})}});
  expect_error(ErrorKind::data, {"'val'"},
               [&] { (void)tune(FeatureStore(bare.path()), tuning, out_); });
  const TemporaryFolder baseless;
  test::write_store(baseless.path(), {{"val", random_split({})}});
  expect_error(ErrorKind::data, {"'base'"}, [&] {
    (void)tune(FeatureStore(baseless.path()), request(Method::deepvoro_plus_plus), out_);
  });
  EXPECT_EQ(folder_.file_names(), (std::vector<std::string>{"store"}));
}

}  // namespace
}  // namespace deepvoro
