#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "deepvoro/study/evaluate.hpp"
#include "ensemble/selection.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::random_split;
using test::TemporaryFolder;
using test::write_store;

class AnswersTest : public ::testing::Test {
 protected:
  AnswersTest() {
    write_store(
        folder_ / "store",
        {{"novel", random_split({.classes = 7, .samples_per_class = 9, .noise = 2.5, .seed = 3})}});
  }

  TemporaryFolder folder_;
};

// Counted once more from the scores, with nothing but the episodes.
TEST_F(AnswersTest, AreThoseOfTheScores) {
  const FeatureStore store(folder_ / "store");
  Evaluation request{.method = Method::vd};
  request.plan = {.shape = {.ways = 4, .shots = 2, .queries = 3}, .count = 60, .seed = 5};
  std::vector<std::vector<double>> scores;
  const EvaluationResult result = evaluate(store, request, [&](std::span<const double> one) {
    scores.emplace_back(one.begin(), one.end());
  });
  const EpisodeList episodes = draw_episodes(store, "novel", request.plan);
  const std::vector<std::size_t> labels = store.labels("novel");
  std::vector<std::uint64_t> confusion(7 * 7);
  std::map<std::size_t, std::pair<std::uint64_t, std::uint64_t>> of_sample;  // asked, wrong
  std::vector<std::vector<double>> percent(7);
  for (std::size_t e = 0; e < episodes.size(); ++e)
    for (std::size_t k = 0; k < 4; ++k) {
      std::size_t right = 0;
      for (std::size_t q = 3 * k; q < 3 * k + 3; ++q) {
        const auto first = scores[e].begin() + static_cast<std::ptrdiff_t>(4 * q);
        const auto answer = static_cast<std::size_t>(std::max_element(first, first + 4) - first);
        const std::size_t sample = episodes[e].query[q];
        ++confusion[labels[sample] * 7 + labels[episodes[e].support[2 * answer]]];
        ++of_sample[sample].first;
        of_sample[sample].second += answer == k ? 0 : 1;
        right += answer == k ? 1 : 0;
      }
      percent[labels[episodes[e].query[3 * k]]].push_back(100.0 * static_cast<double>(right) / 3);
    }
  EXPECT_EQ(result.answers.confusion, confusion);
  std::uint64_t right = 0;
  std::uint64_t asked = 0;
  ASSERT_EQ(result.answers.classes.size(), 7U);
  for (std::size_t c = 0; c < 7; ++c) {
    const Answers::OfClass& one = result.answers.classes[c];
    EXPECT_EQ(one.samples, 9U);
    EXPECT_EQ(one.right, confusion[c * 7 + c]);
    EXPECT_EQ(one.asked, 3 * percent[c].size());
    EXPECT_NEAR(one.ci95, estimate(percent[c]).ci95, 1e-9);
    right += one.right;
    asked += one.asked;
  }
  EXPECT_NEAR(100.0 * static_cast<double>(right) / static_cast<double>(asked), result.accuracy.mean,
              1e-9);

  ASSERT_FALSE(result.answers.hardest.empty());
  ASSERT_LE(result.answers.hardest.size(), kHardQueries);
  double before = 1;
  for (const Answers::HardQuery& query : result.answers.hardest) {
    std::vector<std::size_t> of_class;
    for (std::size_t s = 0; s < labels.size(); ++s)
      if (labels[s] == query.of_class) of_class.push_back(s);
    const std::size_t sample = of_class.at(query.place);
    const auto [times, wrong] = of_sample.at(sample);
    EXPECT_EQ(query.asked, times);
    EXPECT_EQ(query.wrong, wrong);
    EXPECT_NE(query.taken_for, query.of_class);
    // Wilson's lower end, from its textbook form.
    const auto n = static_cast<double>(times);
    const double share = static_cast<double>(wrong) / n;
    const double lower =
        (share + 1.9208 / n - 1.96 * std::sqrt((share * (1 - share) + 0.9604 / n) / n)) /
        (1 + 3.8416 / n);
    EXPECT_LE(lower, before + 1e-12);
    before = lower;
  }
}

TEST_F(AnswersTest, AreInTheResultFile) {
  const FeatureStore store(folder_ / "store");
  Evaluation request{.method = Method::vd};
  request.plan = {.shape = {.ways = 3, .shots = 1, .queries = 2}, .count = 9, .seed = 1};
  const EvaluationResult result = evaluate(store, request);
  const auto document = nlohmann::json::parse(results_json(std::vector{result}, "store", "hash"));
  const auto& answers = document.at("answers");
  EXPECT_EQ(answers.at("classes").size(), 7U);
  EXPECT_EQ(answers.at("confusion").get<std::vector<std::uint64_t>>(), result.answers.confusion);
  EXPECT_EQ(answers.at("hardest").size(), result.answers.hardest.size());
  for (const char* key : {"samples", "asked", "right", "ci95"})
    EXPECT_EQ(answers.at(key).size(), 7U) << key;
}

}  // namespace
}  // namespace deepvoro
