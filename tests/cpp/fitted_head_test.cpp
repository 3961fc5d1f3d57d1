#include "deepvoro/ensemble/fitted_head.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "deepvoro/study/evaluate.hpp"
#include "ensemble/selection.hpp"
#include "expect_error.hpp"
#include "heads/base_statistics.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::random_split;

constexpr EpisodeShape kHeadShape{.ways = 3, .shots = 2, .queries = 4};

Matrix<float> rows_of(const test::SplitData& split, std::span<const SampleIndex> which) {
  const auto& all = split.views.begin()->second;
  Matrix<float> rows(which.size(), all.front().size());
  for (std::size_t i = 0; i < which.size(); ++i) std::ranges::copy(all[which[i]], rows.row(i));
  return rows;
}

TEST(FittedHead, AnswersAsInAnEpisode) {
  for (const std::size_t dim : {std::size_t{18}, std::size_t{70}}) {
    const test::TemporaryFolder folder;
    const auto novel = random_split({.classes = 6, .dim = dim, .seed = 2});
    test::write_store(
        folder / "store",
        {{"base", random_split({.classes = 5, .dim = dim, .seed = 1})}, {"novel", novel}});
    const FeatureStore store(folder / "store");
    const EpisodePlan plan{.shape = kHeadShape, .count = 3};
    const EpisodeList episodes = draw_episodes(store, "novel", plan);
    const std::string view = store.views().front();
    for (const Method method :
         {Method::power_lr, Method::voronoi_lr, Method::simpleshot, Method::pt_ncm}) {
      std::vector<double> expected;
      (void)evaluate(store, {.method = method, .plan = plan}, [&](std::span<const double> scores) {
        expected.insert(expected.end(), scores.begin(), scores.end());
      });
      std::vector<double> found;
      for (std::size_t e = 0; e < episodes.size(); ++e) {
        const FittedHead head(
            {.method = method, .view = view}, rows_of(novel, episodes[e].support).view(),
            std::vector<std::size_t>{0, 0, 1, 1, 2, 2}, kHeadShape.ways, base_mean(store, view, 1));
        const Matrix<float> queries = rows_of(novel, episodes[e].query);
        std::vector<double> scores(queries.rows() * kHeadShape.ways);
        head.influence(queries.view(), 2, {scores.data(), queries.rows(), kHeadShape.ways});
        found.insert(found.end(), scores.begin(), scores.end());
      }
      EXPECT_EQ(found, expected) << name(method) << " in " << dim << " dimensions";
    }
  }
}

TEST(FittedHead, TakesClassesOfAnySizeInAnyOrder) {
  // 2-D rows, not prepared: means (1, 0), (0, 3), (5, 5).
  const std::vector<float> rows{0, 4, 5, 5, 2, 0, 0, 1, 0, 0, 0, 4};
  const FittedHead head({.method = Method::simpleshot, .normalisation = Normalisation::un},
                        {rows.data(), 6, 2}, std::vector<std::size_t>{1, 2, 0, 1, 0, 1}, 3);
  const std::vector<float> query{0, 0};
  std::vector<double> scores(3);
  head.influence({query.data(), 1, 2}, 1, {scores.data(), 1, 3});
  EXPECT_EQ(scores, (std::vector<double>{-1, -3, -std::sqrt(50.0)}));
}

TEST(FittedHead, SaysWhatIsWrong) {
  const std::vector<float> rows{1, 0, 0, 1, -0.5, 1};
  const std::vector<std::size_t> labels{0, 1, 1};
  const MatrixView<const float> view(rows.data(), 3, 2);
  const HeadConfiguration logistic{.method = Method::voronoi_lr};
  expect_error(ErrorKind::data, {"row 2, column 0", "-0.5", "`signed`"},
               [&] { FittedHead(logistic, view, labels, 2); });
  expect_error(ErrorKind::data, {"class 2 has no samples"},
               [&] { FittedHead({.method = Method::simpleshot}, view, labels, 3); });
  expect_error(ErrorKind::usage, {"beyond"}, [&] { FittedHead(logistic, view, labels, 1); });
  expect_error(ErrorKind::usage, {"s2m2"},
               [&] { FittedHead({.method = Method::s2m2}, view, labels, 2); });
  expect_error(ErrorKind::usage, {"3 elements", "2"}, [&] {
    FittedHead({.method = Method::simpleshot}, view, labels, 2, {1, 2, 3});
  });
}

// As in an episode the samples of a class come in their own order, and classes in that of their
// numbers, so sorted rows give the same bits.
TEST(FittedHead, OfUnequalClassesDoesNotDependOnTheOrderOfTheClasses) {
  constexpr std::size_t dim = 70;
  const auto split = random_split({.classes = 3, .samples_per_class = 4, .dim = dim, .seed = 3});
  const std::vector<SampleIndex> mixed{5, 0, 7, 3, 1, 9, 2};
  std::vector<SampleIndex> sorted = mixed;
  const auto label_of = [&](SampleIndex row) {
    return static_cast<std::size_t>(split.labels[row]);
  };
  std::ranges::stable_sort(sorted, {}, label_of);
  const auto scores = [&](Method method, const std::vector<SampleIndex>& rows) {
    std::vector<std::size_t> labels;
    for (const SampleIndex row : rows) labels.push_back(label_of(row));
    const FittedHead head({.method = method}, rows_of(split, rows).view(), labels, 3);
    std::vector<double> out(3);
    head.influence(rows_of(split, std::vector<SampleIndex>{11}).view(), 1, {out.data(), 1, 3});
    return out;
  };
  for (const Method method : {Method::power_lr, Method::voronoi_lr, Method::pt_ncm})
    EXPECT_EQ(scores(method, mixed), scores(method, sorted)) << name(method);
}

}  // namespace
}  // namespace deepvoro
