#include "heads/preparation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "expect_error.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::TemporaryFolder;

TEST(Preparation, FollowsItsOrder) {
  TemporaryFolder folder;
  test::write_store(
      folder.path(),
      {{"novel",
        {.labels = {0, 0, 1}, .classes = {"a", "b"}, .views = {{"v", {{3, 4}, {0, 0}, {8, 6}}}}}}});
  const FeatureStore store(folder.path());
  std::vector<double> scratch(padded(2));
  const auto row = [&](const Preparation& preparation, std::size_t index) {
    const PreparedView rows(store, "novel", "v", preparation, 1);
    const double* from = rows.row(index, scratch.data());
    return std::vector<double>(from, from + 2);
  };
  EXPECT_EQ(row({}, 0), (std::vector<double>{3, 4}));
  EXPECT_EQ(row({.unit_last = true}, 2), (std::vector<double>{0.8, 0.6}));
  EXPECT_EQ(row({.unit_last = true}, 1), (std::vector<double>{0, 0}));
  EXPECT_EQ(row({.origin = {5, 2}, .unit_last = true}, 2), (std::vector<double>{0.6, 0.8}));
  EXPECT_EQ(row({.offset = 1, .square_root = true}, 2), (std::vector<double>{3, std::sqrt(7.0)}));
  EXPECT_EQ(row({.unit_first = true, .square_root = true}, 0),
            (std::vector<double>{std::sqrt(0.6), std::sqrt(0.8)}));
}

TEST(Preparation, ARootOfANegativeNumberIsAnErrorThatNamesItUnlessSigned) {
  TemporaryFolder folder;
  test::write_store(
      folder.path(),
      {{"novel", {.labels = {0, 1}, .classes = {"a", "b"}, .views = {{"v", {{1, 4}, {9, -16}}}}}}});
  const FeatureStore store(folder.path());
  expect_error(ErrorKind::data, {"v.npy", "row 1", "column 1", "-16", "`signed`"},
               [&] { (void)PreparedView(store, "novel", "v", {.square_root = true}, 2); });
  std::vector<double> scratch(padded(2));
  const PreparedView rows(store, "novel", "v", {.square_root = true, .is_signed = true}, 2);
  EXPECT_DOUBLE_EQ(rows.row(1, scratch.data())[0], 3);
  EXPECT_DOUBLE_EQ(rows.row(1, scratch.data())[1], -4);
}

TEST(Preparation, RowsThatAreNotKeptAreThoseThatAre) {
  TemporaryFolder folder;
  const auto split = test::random_split({.classes = 3, .samples_per_class = 2, .dim = 19});
  test::write_store(folder.path(), {{"novel", split}});
  const FeatureStore store(folder.path());
  const Preparation preparation{.square_root = true, .unit_last = true};
  const PreparedView kept(store, "novel", "s84_r0_f0", preparation, 1);
  const PreparedView asked_for(store, "novel", "s84_r0_f0", preparation, 1, 0);
  std::vector<double> one(padded(19));
  std::vector<double> other(padded(19));
  for (std::size_t r = 0; r < kept.rows(); ++r) {
    const double* expected = kept.row(r, one.data());
    const double* actual = asked_for.row(r, other.data());
    EXPECT_NE(expected, one.data());
    EXPECT_EQ(actual, other.data());
    EXPECT_TRUE(std::equal(expected, expected + padded(19), actual)) << r;
  }
  Matrix<double> gathered(2, 19);
  asked_for.gather(std::vector<std::uint32_t>{5, 1}, gathered);
  EXPECT_TRUE(std::equal(gathered.row(0), gathered.row(0) + 19, kept.row(5, one.data())));
  EXPECT_TRUE(std::equal(gathered.row(1), gathered.row(1) + 19, kept.row(1, one.data())));
}

}  // namespace
}  // namespace deepvoro
