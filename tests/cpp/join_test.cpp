#include "deepvoro/features/join.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/ensemble/fitted.hpp"
#include "deepvoro/features/store.hpp"
#include "expect_error.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::Rows;
using test::TemporaryFolder;
using test::write_store;

class TwoNetworks : public ::testing::Test {
 protected:
  TwoNetworks() {
    write_store(folder_ / "wide",
                {{"novel", {{1, 0, 0}, {"ant", "bee"}, {{"v", wide_v_}, {"w", wide_w_}}}}});
    write_store(folder_ / "deep", {{"novel", {{1, 0, 0}, {"ant", "bee"}, {{"v", deep_v_}}}}});
  }
  [[nodiscard]] FeatureStore joined() const {
    join_stores({{folder_ / "wide", ""}, {folder_ / "deep", "net"}}, folder_ / "both");
    return FeatureStore(folder_ / "both");
  }

  TemporaryFolder folder_;
  const Rows wide_v_{{3, 4}, {0, 2}, {1, 0}};
  const Rows wide_w_{{0, 1}, {6, 8}, {0, 0}};
  const Rows deep_v_{{1, 2, 2}, {2, 0, 0}, {0, 3, 4}};
};

TEST_F(TwoNetworks, KnowTheDimensionsOfTheirViews) {
  const FeatureStore store = joined();
  EXPECT_EQ(store.networks(), (std::vector<std::string>{"wide", "net"}));
  EXPECT_EQ(store.views(), (std::vector<std::string>{"wide/v", "wide/w", "net/v"}));
  EXPECT_EQ(store.views_of("wide"), (std::vector<std::string>{"wide/v", "wide/w"}));
  EXPECT_EQ(store.dim("wide/w"), 2U);
  EXPECT_EQ(store.dim("net/v"), 3U);
  EXPECT_EQ(store.dim("net/mean"), 3U);
  EXPECT_EQ(store.model_sha256(), "");
  for (const char* view : {"v", "mean", "net/w", "other/mean", "net"}) {
    EXPECT_FALSE(store.has_view(view)) << view;
    expect_error(ErrorKind::data, {"has no view", view}, [&] { (void)store.dim(view); });
  }
}

TEST_F(TwoNetworks, HaveAMeanEach) {
  const FeatureStore store = joined();
  const auto rows_of = [&](const std::string& view) {
    const FeatureRows rows = store.features("novel", view);
    Rows all(rows.rows(), std::vector<float>(rows.dim()));
    for (std::size_t r = 0; r < rows.rows(); ++r) rows.copy_row(r, all[r]);
    return all;
  };
  EXPECT_EQ(rows_of("wide/mean"), (Rows{{0.6F, 1.8F}, {0.6F, 1.8F}, {1, 0}}));
  EXPECT_EQ(rows_of("net/mean"),
            (Rows{{1 / 3.0F, 2 / 3.0F, 2 / 3.0F}, {1, 0, 0}, {0, 0.6F, 0.8F}}));
  EXPECT_EQ(rows_of("net/v"), deep_v_);
}

TEST_F(TwoNetworks, OfOtherSamplesAreRefused) {
  write_store(folder_ / "more", {{"novel", {{1, 0}, {"ant", "bee"}, {{"v", {{1}, {2}}}}}}});
  expect_error(ErrorKind::data, {"wide", "more", "split novel", "3 samples", "2"}, [&] {
    join_stores({{folder_ / "wide", ""}, {folder_ / "more", ""}}, folder_ / "both");
  });
  EXPECT_FALSE(std::filesystem::exists(folder_ / "both"));
}

double unit_distance(const std::vector<float>& a, const std::vector<float>& b) {
  const auto norm = [](const std::vector<float>& row) {
    double squared = 0;
    for (const float value : row) squared += double{value} * double{value};
    return std::sqrt(squared);
  };
  double squared = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = a[i] / norm(a) - b[i] / norm(b);
    squared += difference * difference;
  }
  return std::sqrt(squared);
}

TEST(FittedNetworks, AddUpTheirDistances) {
  const Rows wide{{1, 2}, {4, 1}};
  const Rows deep{{1, 0, 5}, {2, 2, 1}};
  const std::vector<float> wide_query{3, 2};
  const std::vector<float> deep_query{0, 1, 3};
  Matrix<float> wide_rows(2, 2);
  Matrix<float> deep_rows(2, 3);
  for (std::size_t k = 0; k < 2; ++k) {
    std::ranges::copy(wide[k], wide_rows.row(k));
    std::ranges::copy(deep[k], deep_rows.row(k));
  }
  const std::vector<std::size_t> labels{0, 1};
  const ViewedSamples support{{"a/v", "b/v"}, {wide_rows.view(), deep_rows.view()}, labels, 2};
  const Transform unit;
  // The mean of one view is that view, once rows have unit length.
  const FittedEnsemble ensemble({{"b/mean", unit, Voronoi{}}, {"a/v", unit, Voronoi{}}}, support,
                                nullptr, Influence(1));
  std::vector<double> influence(2);
  const std::vector<std::span<const float>> query{wide_query, deep_query};
  ensemble.influence(query, influence);
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_NEAR(influence[k],
                -(unit_distance(wide[k], wide_query) + unit_distance(deep[k], deep_query)), 1e-6);
  const std::vector<std::span<const float>> turned{deep_query, wide_query};
  expect_error(ErrorKind::usage, {"every view of the support"},
               [&] { ensemble.influence(turned, influence); });
  expect_error(ErrorKind::data, {"'c/mean'"}, [&] {
    (void)FittedEnsemble({{"c/mean", unit, Voronoi{}}}, support, nullptr, Influence(1));
  });
  const ViewedSamples uneven{{"a/v", "a/w"}, {wide_rows.view(), deep_rows.view()}, labels, 2};
  expect_error(ErrorKind::usage, {"same length"}, [&] {
    (void)FittedEnsemble({{"a/v", unit, Voronoi{}}}, uneven, nullptr, Influence(1));
  });
}

}  // namespace
}  // namespace deepvoro
