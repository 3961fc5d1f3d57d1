#include "features/transformed_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "expect_error.hpp"
#include "plain_reference.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::plain_transform;
using test::Rows;
using test::TemporaryFolder;

LoadedView loaded(const FeatureStore& store, std::size_t block_columns) {
  LoadedView view(store, block_columns, 2);
  view.load("novel", "view");
  return view;
}

// A view of a store, and what the transformer makes of its rows.
class TransformedView {
 public:
  TransformedView(const Rows& rows, const Transform& transform)
      : store_(written(rows)),
        view_(loaded(store_, kBlockColumns)),
        transformer_(view_, transform, wavy_center(rows.front().size())) {}

  template <class Real>
  std::vector<Real> columns(std::size_t row, std::size_t begin, std::size_t count) const {
    std::vector<double> scratch(padded(view_.dim()), -1);
    std::vector<Real> out(count, -1);
    transformer_.columns(row, begin, count, scratch.data(), out.data());
    return out;
  }
  template <class Real>
  std::vector<Real> row(std::size_t index) const {
    return columns<Real>(index, 0, padded(view_.dim()));
  }
  // All rows, from a column on.
  template <class Real>
  Matrix<Real> block(std::size_t begin, std::size_t count) const {
    std::vector<double> scratch(padded(view_.dim()), -1);
    Matrix<Real> out(view_.rows(), count);
    std::fill_n(out.row(0), out.rows() * out.stride(), Real{-1});
    transformer_.block(0, begin, scratch.data(), out.view());
    return out;
  }
  [[nodiscard]] double center(std::size_t column) const {
    return static_cast<double>(transformer_.center()[column]);
  }

 private:
  static std::vector<float> wavy_center(std::size_t dim) {
    std::vector<float> center;
    for (std::size_t i = 0; i < dim; ++i)
      center.push_back(0.25F * static_cast<float>(i % 5) - 0.5F);
    return center;
  }
  FeatureStore written(const Rows& rows) const {
    const std::vector<std::int64_t> labels(rows.size(), 0);
    test::write_store(folder_.path(), {{"novel", {labels, {"only"}, {{"view", rows}}}}});
    return FeatureStore(folder_.path());
  }

  static constexpr std::size_t kBlockColumns = 16;  // narrower than most rows here

  TemporaryFolder folder_;
  FeatureStore store_;
  LoadedView view_;
  RowTransformer transformer_;
};

Rows random_rows(std::size_t count, std::size_t dim, bool negative, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Rows rows(count, std::vector<float>(dim));
  for (auto& row : rows)
    for (float& value : row) value = negative ? normal(random) : std::max(0.0F, normal(random));
  return rows;
}

template <class Real>
long double moved_by(const TransformedView& view, std::size_t column, Real actual,
                     long double expected) {
  return static_cast<long double>(actual) + view.center(column) - expected;
}

// Results may be moved by one constant for all elements: distances do not feel it.
template <class Real>
void expect_plain_result_less_a_center(const Rows& rows, const Transform& transform,
                                       double tolerance) {
  const TransformedView view(rows, transform);
  const auto constant = static_cast<double>(
      moved_by(view, 0, view.row<double>(0)[0], plain_transform(rows.front(), transform)[0]));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const test::LongRow expected = plain_transform(rows[r], transform);
    const std::vector<Real> actual = view.row<Real>(r);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double magnitude = 1 + static_cast<double>(std::abs(expected[i])) + std::abs(constant);
      EXPECT_NEAR(static_cast<double>(moved_by(view, i, actual[i], expected[i])), constant,
                  tolerance * magnitude)
          << "row " << r << " column " << i << " value " << rows[r][i];
    }
    for (std::size_t i = expected.size(); i < actual.size(); ++i)
      EXPECT_EQ(actual[i], 0) << "padding " << i;
  }
}

void expect_agreement(const Rows& rows, const Transform& transform) {
  SCOPED_TRACE(transform.id());
  expect_plain_result_less_a_center<double>(rows, transform, 1e-14);
  expect_plain_result_less_a_center<float>(rows, transform, 1e-6);
}

constexpr std::size_t kDims[] = {1, 2, 15, 16, 17, 33};

TEST(RowTransformer, AgreesWithThePlainComputationOnNonNegativeRows) {
  for (const std::size_t dim : kDims) {
    const Rows rows = random_rows(4, dim, false, 1);
    for (const double lambda : {0.5, 0.75, 1.0, 1.3, 2.0, 3.0, 0.1})
      for (const double b : {0.0, 0.04}) {
        expect_agreement(rows, {.b = b, .lambda = lambda});
        expect_agreement(rows, {.w = 2.5, .b = b, .lambda = lambda});
      }
    for (const double lambda : {0.0, -1.0, -0.5, -2.0})
      expect_agreement(rows, {.w = 1.5, .b = 0.02, .lambda = lambda});
  }
}

TEST(RowTransformer, TakesWholePowersOfNegativeNumbers) {
  for (const double lambda : {1.0, 2.0, 3.0, 4.0, -1.0, -2.0, -3.0})
    expect_agreement(random_rows(4, 19, true, 2), {.b = -0.01, .lambda = lambda});
}

TEST(RowTransformer, SignedLaddersTakeNegativeNumbers) {
  for (const double lambda : {0.0, 0.5, 0.75, 1.0, 1.3, 2.0, 3.0, -1.0})
    for (const double b : {0.0, 0.05})
      expect_agreement(random_rows(4, 19, true, 3),
                       {.w = 1.5, .b = b, .lambda = lambda, .is_signed = true});
}

TEST(RowTransformer, LeavesAZeroRowAtTheImageOfZero) {
  const Rows rows{std::vector<float>(7, 0.0F)};
  for (const Transform& transform :
       {Transform{.lambda = 0.5}, Transform{.lambda = 1}, Transform{.b = 0.5, .lambda = 0},
        Transform{.b = 3, .lambda = 2}, Transform{.lambda = 0, .is_signed = true}})
    expect_agreement(rows, transform);
}

TEST(RowTransformer, NormalisesRowsOfAnySize) {
  const Rows rows{{3e30F, 4e30F}, {3e-30F, 4e-30F}, {3e-40F, 4e-40F}, {-3, 4}};
  const TransformedView view(rows, {.lambda = 1});
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_NEAR(view.row<double>(r)[0] + view.center(0), 0.6, 1e-5);
    EXPECT_NEAR(view.row<double>(r)[1] + view.center(1), 0.8, 1e-5);
    EXPECT_NEAR(static_cast<double>(view.row<float>(r)[1]) + view.center(1), 0.8, 1e-5);
  }
  EXPECT_DOUBLE_EQ(view.row<double>(3)[0] + view.center(0), -0.6);
}

TEST(RowTransformer, GivesPartsOfARowAsTheyStandInTheWhole) {
  const Rows rows = random_rows(2, 37, false, 4);
  for (const Transform& transform :
       {Transform{.lambda = 0.5}, Transform{.b = 0.1, .lambda = 0}, Transform{.lambda = 1.3}}) {
    const TransformedView view(rows, transform);
    const std::vector<double> whole = view.row<double>(1);
    const std::vector<float> narrow = view.row<float>(1);
    for (const std::size_t begin : {0U, 5U, 16U, 20U, 32U})
      for (std::size_t i = 0; i < 16; ++i) {
        EXPECT_EQ(view.columns<double>(1, begin, 16)[i], whole[begin + i]);
        EXPECT_EQ(view.columns<float>(1, begin, 16)[i], narrow[begin + i]);
      }
  }
}

template <class Real>
void expect_block_of_rows(const TransformedView& view, std::size_t begin, std::size_t count) {
  const Matrix<Real> block = view.block<Real>(begin, count);
  for (std::size_t r = 0; r < block.rows(); ++r) {
    const std::vector<Real> row = view.columns<Real>(r, begin, block.stride());
    for (std::size_t i = 0; i < block.stride(); ++i)
      EXPECT_EQ(block.row(r)[i], row[i]) << "row " << r << " column " << begin + i;
  }
}

TEST(RowTransformer, GivesRowsThatFollowEachOtherAsItGivesEach) {
  Rows rows = random_rows(9, 37, false, 5);
  const auto expect_blocks = [&] {
    for (const Transform& transform :
         {Transform{.lambda = 0.5}, Transform{.b = 0.1, .lambda = 0}, Transform{.lambda = 1.3}}) {
      const TransformedView view(rows, transform);
      for (const std::size_t begin : {0U, 16U, 20U, 32U}) {
        expect_block_of_rows<float>(view, begin, 16);
        expect_block_of_rows<double>(view, begin, 16);
      }
    }
  };
  expect_blocks();
  std::ranges::fill(rows[3], 0.0F);
  std::ranges::fill(rows[5], 3e-40F);  // the inverse of its length is no float
  expect_blocks();
}

TEST(RowTransformer, NamesTheRowOfABlockThatItCannotTransform) {
  Rows rows = random_rows(4, 20, false, 6);
  rows[2][17] = -1;
  const TransformedView view(rows, {.lambda = 0.5});
  expect_error(ErrorKind::data, {"view.npy", "row 2", "column 17", "-1"},
               [&] { (void)view.block<float>(16, 16); });
}

TEST(RowTransformer, ReadsFloat16) {
  const TemporaryFolder folder;
  test::write_store(folder.path(), {{"novel", {{0}, {"only"}, {{"view", {{1, 1, 1}}}}}}});
  const std::vector<std::uint16_t> halves{0x4200, 0x0000, 0xC400};  // 3, 0, -4
  test::write_file(folder / "novel" / "view.npy",
                   test::npy_bytes(test::npy_dictionary("<f2", std::vector<std::size_t>{1, 3}),
                                   test::bytes_of(halves)));
  const FeatureStore store(folder.path());
  const LoadedView view = loaded(store, 2);
  EXPECT_DOUBLE_EQ(view.norm(0), 5);
  const RowTransformer transformer(view, {.lambda = 1}, {0, 0, 0});
  std::vector<double> scratch(padded(3));
  std::vector<double> out(padded(3));
  transformer.columns(0, 0, padded(3), scratch.data(), out.data());
  EXPECT_DOUBLE_EQ(out[0], 0.6);
  EXPECT_EQ(out[1], 0);
  EXPECT_DOUBLE_EQ(out[2], -0.8);
}

void expect_not_transformed(const Rows& rows, const Transform& transform, std::size_t bad_row,
                            std::initializer_list<std::string_view> fragments) {
  const TransformedView view(rows, transform);
  for (std::size_t r = 0; r < bad_row; ++r) EXPECT_NO_THROW((void)view.row<double>(r));
  expect_error(ErrorKind::data, fragments, [&] { (void)view.row<double>(bad_row); });
  expect_error(ErrorKind::data, fragments, [&] { (void)view.row<float>(bad_row); });
}

TEST(RowTransformer, NamesTheRowColumnAndValueItCannotTakeThePowerOf) {
  expect_not_transformed(
      {{3, 4}, {3, -4}}, {.lambda = 0.5}, 1,
      {"view.npy", "row 1", "column 1", "the value is -4", "-0.8", "power 0.5", "`signed`"});
  expect_not_transformed({{-3, 4}}, {.lambda = 1.3}, 0, {"row 0", "column 0", "power 1.3"});
}

TEST(RowTransformer, NamesTheRowColumnAndValueItCannotTakeTheLogarithmOf) {
  expect_not_transformed({{1, 1}, {1, 0}}, {.lambda = 0}, 1,
                         {"view.npy", "row 1", "column 1", "the value is 0", "logarithm"});
  expect_not_transformed({{0, 0}}, {.lambda = 0}, 0, {"row 0", "column 0", "logarithm"});
  expect_not_transformed({{1, 1}, {-1, 1}}, {.b = 0.1, .lambda = 0}, 1,
                         {"row 1", "column 0", "logarithm"});
}

TEST(RowTransformer, NamesTheRowAndColumnThatBecomesTooLarge) {
  expect_not_transformed({{1, 0}}, {.lambda = -1}, 0, {"row 0", "column 1", "beyond float32"});
  expect_not_transformed({{1, 1}}, {.w = 1e9, .lambda = 8}, 0,
                         {"row 0", "column 0", "beyond float32"});
}

TEST(RowTransformer, RefusesParametersBeyondReason) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Transform& transform :
       {Transform{.w = nan}, Transform{.b = HUGE_VAL}, Transform{.lambda = nan},
        Transform{.w = 1e20}, Transform{.w = 1e-23}, Transform{.lambda = 9}})
    expect_error(ErrorKind::data, {"w must be"}, [&] { TransformedView({{1, 1}}, transform); });
}

TEST(LoadedView, NamesTheRowAndColumnThatIsNotFinite) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  expect_error(ErrorKind::data, {"view.npy", "row 1", "column 2", "inf"}, [&] {
    TransformedView({{1, 1, 1}, {1, 1, infinity}}, {});
  });
  expect_error(ErrorKind::data, {"view.npy", "row 0", "column 0", "nan"}, [&] {
    TransformedView({{nan, 1, 1}}, {});
  });
}

// What is held of every row is what the file has of it, whether copied or not.
void expect_rows(const LoadedView& view, const Rows& rows, std::span<const std::uint32_t> which) {
  ASSERT_EQ(view.rows(), which.size());
  for (std::size_t i = 0; i < which.size(); ++i) {
    EXPECT_EQ(view.row_in_split(i), which[i]);
    double squares = 0;
    for (std::size_t column = 0; column < view.dim(); ++column) {
      float value = 0;
      std::memcpy(&value, view.run(i, column).data, sizeof value);
      ASSERT_EQ(value, rows[which[i]][column]) << which[i] << ", " << column;
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    EXPECT_NEAR(view.norm(i), std::sqrt(squares), 1e-12 * std::sqrt(squares));
  }
}

TEST(LoadedView, HoldsAllRowsMappedOrSomeRowsCopied) {
  const TemporaryFolder folder;
  const Rows rows = random_rows(300, 37, true, 5);
  test::write_store(
      folder.path(),
      {{"novel", {std::vector<std::int64_t>(rows.size(), 0), {"only"}, {{"view", rows}}}}});
  const FeatureStore store(folder.path());
  LoadedView mapped = LoadedView::mapped(store, 2);
  mapped.load("novel", "view");
  std::vector<std::uint32_t> all(rows.size());
  std::iota(all.begin(), all.end(), 0U);
  expect_rows(mapped, rows, all);

  const RowSet some(rows.size(), {std::vector<std::uint32_t>{299, 3, 64, 150, 3}});
  LoadedView few(store, 16, 2, &some);
  few.load("novel", "view");
  expect_rows(few, rows, std::vector<std::uint32_t>{3, 64, 150, 299});
}

// One row is not finite and another has no square root.
TEST(LoadedView, OfSomeRowsLooksAtThemAloneAndNamesThemAsTheSplitDoes) {
  const TemporaryFolder folder;
  Rows rows = random_rows(90, 6, false, 5);
  rows[50][4] = std::numeric_limits<float>::infinity();
  rows[70][1] = -1;
  test::write_store(
      folder.path(),
      {{"novel", {std::vector<std::int64_t>(rows.size(), 0), {"only"}, {{"view", rows}}}}});
  const FeatureStore store(folder.path());
  const auto transform = [&](std::vector<std::uint32_t> which) {
    const RowSet some(rows.size(), {which});
    LoadedView view(store, 4, 1, &some);
    view.load("novel", "view");
    const RowTransformer transformer(view, {.lambda = 0.5}, std::vector<float>(view.dim()));
    std::vector<double> scratch(padded(view.dim()));
    std::vector<float> out(padded(view.dim()));
    for (std::size_t i = 0; i < view.rows(); ++i)
      transformer.columns(i, 0, out.size(), scratch.data(), out.data());
  };
  transform({1, 49, 51, 89});
  expect_error(ErrorKind::data, {"view.npy", "row 50", "column 4", "inf"}, [&] {
    transform({1, 50, 70});
  });
  expect_error(ErrorKind::data, {"view.npy", "row 70", "column 1"}, [&] { transform({1, 70}); });
}

TEST(CenterOf, IsThatOfTheSplitWhicheverRowsAreHeld) {
  const TemporaryFolder folder;
  const Rows rows = random_rows(203, 9, false, 5);
  test::write_store(
      folder.path(),
      {{"novel", {std::vector<std::int64_t>(rows.size(), 0), {"only"}, {{"view", rows}}}}});
  const FeatureStore store(folder.path());
  const RowSet some(rows.size(), {std::vector<std::uint32_t>{2, 77}, rows_for_center(rows.size())});
  LoadedView few(store, 4, 1, &some);
  few.load("novel", "view");
  EXPECT_EQ(few.rows(), 18U);
  EXPECT_EQ(center_of(few, {.lambda = 0.5}), center_of(loaded(store, 4), {.lambda = 0.5}));
}

TEST(CenterOf, IsTheMeanOfAFewRowsThatAreAllOfThem) {
  const TemporaryFolder folder;
  test::write_store(folder.path(), {{"novel", {{0, 0}, {"only"}, {{"view", {{3, 4}, {0, 1}}}}}}});
  const FeatureStore store(folder.path());
  const LoadedView view = loaded(store, 2);
  EXPECT_EQ(center_of(view, {.lambda = 1}), (std::vector<float>{0.3F, 0.9F}));
}

TEST(EightTransforms, AreThreePowersAndFiveLogarithms) {
  const std::vector<Transform> transforms = eight_transforms(0.5);
  const std::vector<Transform> expected{{.lambda = 0.5},       {.lambda = 0.75},
                                        {.lambda = 1},         {.b = 0.5, .lambda = 0},
                                        {.b = 1, .lambda = 0}, {.b = 1.5, .lambda = 0},
                                        {.b = 2, .lambda = 0}, {.b = 2.5, .lambda = 0}};
  EXPECT_EQ(transforms, expected);
}

TEST(TransformId, TellsTransformationsApart) {
  std::set<std::string> ids;
  for (const double w : {1.0, 2.0})
    for (const double b : {0.0, 0.02})
      for (const double lambda : {0.0, 0.5, 1.0})
        for (const bool is_signed : {false, true})
          ids.insert(Transform{w, b, lambda, is_signed}.id());
  EXPECT_EQ(ids.size(), 24U);
}

// Both views have as many elements, but those of the second are twice as large. So many that what
// is written behind the memory of the first cannot go unnoticed.
TEST(LoadedView, TakesALargerViewAfterASmallerOne) {
  constexpr std::size_t count = 1100;
  constexpr std::size_t dim = 600;
  const TemporaryFolder folder;
  const Rows rows = random_rows(count, dim, true, 21);
  const std::vector<std::int64_t> labels(count, 0);
  test::write_store(folder.path(), {{"novel", {labels, {"only"}, {{"a", rows}, {"b", rows}}}}});
  const std::vector<std::uint16_t> halves(count * dim, 0x3C00);  // 1
  test::write_file(
      folder / "novel" / "a.npy",
      test::npy_bytes(test::npy_dictionary("<f2", std::vector<std::size_t>{count, dim}),
                      test::bytes_of(halves)));
  const FeatureStore store(folder.path());
  LoadedView view(store, 64, 1);
  view.load("novel", "a");
  EXPECT_EQ(view.element(), ElementType::float16);
  EXPECT_DOUBLE_EQ(view.norm(count - 1), std::sqrt(static_cast<double>(dim)));
  const std::vector<std::byte> next(count * dim * 2, std::byte{7});
  view.load("novel", "b");
  EXPECT_EQ(view.element(), ElementType::float32);
  for (std::size_t row = 0; row < count; row += 109)
    for (std::size_t column = 0; column < dim; column += 7) {
      float value = 0;
      std::memcpy(&value, view.run(row, column).data, sizeof value);
      ASSERT_EQ(value, rows[row][column]) << row << ", " << column;
    }
  EXPECT_EQ(std::ranges::count(next, std::byte{7}), static_cast<std::ptrdiff_t>(next.size()));
}

}  // namespace
}  // namespace deepvoro
