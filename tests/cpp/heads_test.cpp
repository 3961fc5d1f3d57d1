#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "head_tasks.hpp"
#include "heads/base_statistics.hpp"
#include "heads/calibrated.hpp"
#include "heads/cluster_head.hpp"
#include "heads/cosine.hpp"
#include "heads/logistic.hpp"
#include "heads/nearest_mean.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::influence_of;
using test::random_points;
using test::random_split;
using test::TemporaryFolder;

static_assert(Head<NearestMean>);
static_assert(Head<LogisticHead>);
static_assert(Head<ClusterHead>);
static_assert(Head<CosineHead>);
static_assert(Head<CalibratedHead>);

// Classes far apart, samples close to their class.
struct EasyTask {
  explicit EasyTask(std::uint32_t seed) : support(ways * shots, dim), queries(ways, dim) {
    const Matrix<double> noise = random_points(ways * (shots + 1), dim, seed);
    for (std::size_t k = 0; k < ways; ++k)
      for (std::size_t s = 0; s <= shots; ++s) {
        double* row = s < shots ? support.row(k * shots + s) : queries.row(k);
        for (std::size_t d = 0; d < dim; ++d)
          row[d] = (d % ways == k ? 1.0 : 0.1) + 0.02 * std::abs(noise.row(k * (shots + 1) + s)[d]);
      }
  }
  [[nodiscard]] Support view() const {
    return {.rows = support.view(), .ways = ways, .shots = shots, .stream = 3};
  }

  static constexpr std::size_t ways = 4, shots = 3, dim = 20;
  Matrix<double> support, queries;
};

class BaseStore {
 public:
  BaseStore() {
    test::write_store(
        folder_.path(),
        {{"base", random_split({.classes = 6, .samples_per_class = 5, .dim = EasyTask::dim})}});
  }
  [[nodiscard]] FeatureStore open() const { return FeatureStore(folder_.path()); }

 private:
  TemporaryFolder folder_;
};

template <class MakeHead>
void expect_head_keeps_its_promises(const MakeHead& make) {
  const EasyTask task(1);
  const EasyTask other(2);
  auto head = make();
  head.fit(task.view());
  std::vector<std::vector<double>> first;
  for (std::size_t k = 0; k < EasyTask::ways; ++k) {
    first.push_back(influence_of(head, task.queries.row(k), EasyTask::ways));
    EXPECT_EQ(cell_of(first.back()), k);
  }
  head.fit(other.view());
  EXPECT_NE(influence_of(head, task.queries.row(0), EasyTask::ways), first[0]);
  head.fit(task.view());
  for (std::size_t k = 0; k < EasyTask::ways; ++k)
    EXPECT_EQ(influence_of(head, task.queries.row(k), EasyTask::ways), first[k])
        << "a fit depends on the one before";
}

TEST(Heads, AnswerEasyQuestionsAndForgetEarlierFits) {
  expect_head_keeps_its_promises([] { return NearestMean(); });
  expect_head_keeps_its_promises([] { return LogisticHead({.kind = LogisticKind::power}); });
  expect_head_keeps_its_promises([] { return LogisticHead({.kind = LogisticKind::voronoi}); });
  expect_head_keeps_its_promises(
      [] { return ClusterHead(LogisticHead({.kind = LogisticKind::voronoi}), Influence(1)); });
  expect_head_keeps_its_promises([] { return CosineHead(); });
  const BaseStore base_store;
  const BaseStatistics base(base_store.open(), "s84_r0_f0", 1);
  expect_head_keeps_its_promises([&] { return CalibratedHead(base); });
}

TEST(DeepVoroMinusMinus, IsTheClusterInducedDiagramOfMeansAndHalvedRows) {
  const Matrix<double> rows = random_points(6, 9, 5);
  const Support support{.rows = rows.view(), .ways = 3, .shots = 2};
  for (const double alpha : {1.0, -2.0}) {
    ClusterHead head(LogisticHead({.kind = LogisticKind::power}), Influence(alpha));
    head.fit(support);
    LogisticHead logistic({.kind = LogisticKind::power});
    logistic.fit(support);
    Matrix<double> means;
    class_means(support, means);
    const Matrix<double> queries = random_points(20, 9, 6);
    for (std::size_t q = 0; q < queries.rows(); ++q) {
      const auto actual = influence_of(head, queries.row(q), 3);
      for (std::size_t k = 0; k < 3; ++k) {
        double to_mean = 0;
        double to_halved_row = 0;
        for (std::size_t d = 0; d < 9; ++d) {
          to_mean += std::pow(queries.row(q)[d] - means.row(k)[d], 2);
          to_halved_row += std::pow(queries.row(q)[d] - logistic.weights()[k][d] / 2, 2);
        }
        const double expected = (alpha > 0 ? -1 : 1) *
                                (std::pow(to_mean, alpha / 2) + std::pow(to_halved_row, alpha / 2));
        EXPECT_NEAR(actual[k], expected, 1e-13 * std::abs(expected));
      }
    }
  }
}

}  // namespace
}  // namespace deepvoro
