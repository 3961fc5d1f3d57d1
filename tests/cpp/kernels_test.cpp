#include "kernels/kernels.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/matrix.hpp"

namespace deepvoro::kernels {
namespace {

constexpr std::size_t kLengths[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 640, 700};

class KernelTest : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    kernels_ = table(GetParam());
    if (kernels_ == nullptr) GTEST_SKIP() << "this processor has no " << name(GetParam());
    ASSERT_EQ(kernels_->level, GetParam());
  }
  const Table* kernels_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Levels, KernelTest,
                         testing::Values(Level::generic, Level::avx2, Level::avx512, Level::neon),
                         [](const auto& level) { return std::string(name(level.param)); });

template <class Real>
Matrix<Real> random_matrix(std::size_t rows, std::size_t cols, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Matrix<Real> matrix(rows, cols);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < cols; ++c) matrix.row(r)[c] = static_cast<Real>(normal(random));
  return matrix;
}

template <class Real>
std::vector<double> distances_by(const Table& kernels, const Matrix<Real>& query,
                                 const Matrix<Real>& centers) {
  std::vector<double> out(centers.rows());
  squared_distances(kernels, query.row(0), centers.row(0), centers.stride(), centers.rows(),
                    centers.stride(), out.data());
  return out;
}

template <class Real>
void expect_plain_distances(const Table& kernels) {
  for (const std::size_t length : kLengths)
    for (std::size_t count = 1; count <= 11; ++count) {
      const auto query = random_matrix<Real>(1, length, 1);
      const auto centers = random_matrix<Real>(count, length, 2);
      const auto distances = distances_by(kernels, query, centers);
      for (std::size_t c = 0; c < count; ++c) {
        long double expected = 0;
        for (std::size_t i = 0; i < length; ++i) {
          const auto difference = static_cast<long double>(query.row(0)[i]) -
                                  static_cast<long double>(centers.row(c)[i]);
          expected += difference * difference;
        }
        const double tolerance = static_cast<double>(std::numeric_limits<Real>::epsilon()) *
                                 (4 + std::sqrt(static_cast<double>(length)));
        EXPECT_NEAR(distances[c] / static_cast<double>(expected), 1, tolerance)
            << "length " << length << ", center " << c << " of " << count;
      }
    }
}

TEST_P(KernelTest, FloatDistancesAgreeWithAPlainLoop) {
  expect_plain_distances<float>(*kernels_);
}
TEST_P(KernelTest, DoubleDistancesAgreeWithAPlainLoop) {
  expect_plain_distances<double>(*kernels_);
}

TEST_P(KernelTest, DistanceOfEqualRowsIsExactlyZero) {
  const auto row = random_matrix<float>(1, 333, 3);
  EXPECT_EQ(distances_by(*kernels_, row, row)[0], 0);
}

template <class Real>
std::vector<const Real*> rows_of(const Matrix<Real>& matrix) {
  std::vector<const Real*> rows;
  for (std::size_t r = 0; r < matrix.rows(); ++r) rows.push_back(matrix.row(r));
  return rows;
}

// Dot products of all rows, added to what is there; the memory between and behind must not change.
template <class Real>
std::vector<Real> dots_by(const Table& kernels, const Matrix<Real>& queries,
                          const Matrix<Real>& centers) {
  const auto query_rows = rows_of(queries);
  const auto center_rows = rows_of(centers);
  const std::size_t stride = queries.rows() + 1;
  std::vector<Real> out(centers.rows() * stride, Real{3});
  add_dots(kernels, DotProducts<Real>{.queries = query_rows.data(),
                                      .query_count = query_rows.size(),
                                      .centers = center_rows.data(),
                                      .center_count = center_rows.size(),
                                      .length = queries.stride(),
                                      .out = out.data(),
                                      .center_stride = stride});
  return out;
}

// The same by tiles, added to what is there or not.
template <class Real>
std::vector<Real> tiled_dots_by(const Table& kernels, const Matrix<Real>& queries,
                                const Matrix<Real>& centers, bool add, std::size_t later_count) {
  const auto query_rows = rows_of(queries);
  const auto center_rows = rows_of(centers);
  const std::vector<const Real*> later(later_count, centers.row(0));
  const Tiles of_rows = tiles(kernels, queries.rows(), centers.rows());
  std::vector<Real> in_tiles(of_rows.elements() + 1, Real{3});
  tiled_dots(kernels, TiledDots<Real>{.queries = query_rows.data(),
                                      .centers = center_rows.data(),
                                      .tiles = of_rows,
                                      .length = queries.stride(),
                                      .out = in_tiles.data(),
                                      .add = add,
                                      .later = later.data(),
                                      .later_count = later.size()});
  EXPECT_EQ(in_tiles.back(), 3) << "outside";
  const std::size_t stride = queries.rows() + 1;
  std::vector<Real> out(centers.rows() * stride, Real{3});
  for (std::size_t c = 0; c < centers.rows(); ++c)
    for (std::size_t q = 0; q < queries.rows(); ++q)
      out[c * stride + q] = in_tiles[of_rows.place(q, c)];
  return out;
}

template <class Real>
void expect_plain_dots(const Table& kernels) {
  for (const std::size_t length : {1U, 17U, 112U, 127U, 128U, 129U, 640U})
    for (const std::size_t queries : {1U, 2U, 3U, 4U, 5U, 15U, 16U})
      for (const std::size_t centers : {1U, 2U, 3U, 4U, 5U, 6U, 10U}) {
        const auto query = random_matrix<Real>(queries, length, 1);
        const auto center = random_matrix<Real>(centers, length, 2);
        const auto dots = dots_by(kernels, query, center);
        EXPECT_EQ(tiled_dots_by(kernels, query, center, true, 0), dots);
        EXPECT_EQ(tiled_dots_by(kernels, query, center, true, length % 2 * 20), dots);
        const auto anew = tiled_dots_by(kernels, query, center, false, 20);
        for (std::size_t c = 0; c < centers; ++c) {
          EXPECT_EQ(dots[c * (queries + 1) + queries], 3) << "outside";
          for (std::size_t q = 0; q < queries; ++q) {
            long double expected = 3;
            long double magnitude = 3;
            for (std::size_t i = 0; i < length; ++i) {
              const long double term = static_cast<long double>(query.row(q)[i]) * center.row(c)[i];
              expected += term;
              magnitude += std::abs(term);
            }
            EXPECT_NEAR(dots[c * (queries + 1) + q], static_cast<double>(expected),
                        static_cast<double>(4 * std::numeric_limits<Real>::epsilon() * magnitude))
                << length << " long, " << queries << " by " << centers;
            EXPECT_EQ(Real{3} + anew[c * (queries + 1) + q], dots[c * (queries + 1) + q]);
          }
        }
      }
}

// |q|^2 + |p|^2 = 2, so the squared distance 2 - 2 q.p is 1/64 of it where q.p = 1 - 1/64.
template <class Real>
void expect_cancellation_is_told(const Table& kernels) {
  const Real limit = Real{63} / 64;
  const std::vector<Real> norms(3, 2);
  const auto tells = [&](Real third) {
    const std::vector<Real> dots{Real{-0.5}, limit, third};
    std::vector<Real> out(3);
    const bool told = distances(kernels, norms.data(), dots.data(), 3, out.data());
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(out[i], std::sqrt(std::max(Real{0}, 2 - 2 * dots[i])));
    EXPECT_EQ(loses_digits(norms[2], third), told);
    return told;
  };
  EXPECT_FALSE(loses_digits(Real{2}, limit));
  EXPECT_FALSE(tells(std::nextafter(limit, Real{0})));
  EXPECT_FALSE(tells(limit));
  EXPECT_TRUE(tells(std::nextafter(limit, Real{1})));
  EXPECT_TRUE(tells(Real{1}));
  EXPECT_TRUE(tells(std::nextafter(Real{1}, Real{2})));  // rounding made it negative
}

TEST_P(KernelTest, DistancesTellWhereCancellationShows) {
  expect_cancellation_is_told<float>(*kernels_);
  expect_cancellation_is_told<double>(*kernels_);
}

TEST_P(KernelTest, DotProductsGoWhereTheStridesSay) {
  constexpr std::size_t count = 7;
  const auto rows = random_matrix<float>(count, 128, 4);
  std::vector<const float*> pointers;
  for (std::size_t r = 0; r < count; ++r) pointers.push_back(rows.row(r));
  const auto products = [&](std::size_t center_stride, std::size_t query_stride) {
    std::vector<float> out(count * count);
    add_dots(*kernels_, DotProducts<float>{.queries = pointers.data(),
                                           .query_count = count,
                                           .centers = pointers.data(),
                                           .center_count = 5,
                                           .length = rows.stride(),
                                           .out = out.data(),
                                           .center_stride = center_stride,
                                           .query_stride = query_stride});
    return out;
  };
  const auto by_center = products(count, 1);
  const auto by_query = products(1, count);
  for (std::size_t q = 0; q < count; ++q)
    for (std::size_t c = 0; c < count; ++c) {
      EXPECT_EQ(by_query[q * count + c], by_center[c * count + q]);
      EXPECT_EQ(by_center[c * count + q] != 0, c < 5);
    }
}

TEST_P(KernelTest, FloatDotProductsAgreeWithAPlainLoop) {
  expect_plain_dots<float>(*kernels_);
}
TEST_P(KernelTest, DoubleDotProductsAgreeWithAPlainLoop) {
  expect_plain_dots<double>(*kernels_);
}

template <class Real>
void expect_plain_norms(const Table& kernels) {
  for (const std::size_t length : {1U, 16U, 17U, 100U, 128U, 640U})
    for (const std::size_t count : {1U, 3U, 4U, 5U, 9U}) {
      const auto rows = random_matrix<Real>(count, length, 7);
      const auto pointers = rows_of(rows);
      std::vector<Real> norms(count + 1, Real{3});
      add_squared_norms(kernels, pointers.data(), count, rows.stride(), norms.data());
      EXPECT_EQ(norms[count], 3) << "outside";
      for (std::size_t r = 0; r < count; ++r) {
        long double expected = 3;
        for (std::size_t i = 0; i < length; ++i)
          expected += static_cast<long double>(rows.row(r)[i]) * rows.row(r)[i];
        EXPECT_NEAR(norms[r] / static_cast<double>(expected), 1,
                    4 * std::numeric_limits<Real>::epsilon())
            << length << " long, row " << r << " of " << count;
      }
    }
}

TEST_P(KernelTest, SquaredNormsAgreeWithAPlainLoop) {
  expect_plain_norms<float>(*kernels_);
  expect_plain_norms<double>(*kernels_);
}

// A row is not padded, as it lies in a file.
TEST_P(KernelTest, NormsOfFilesRowsAgreeWithAPlainLoop) {
  for (const std::size_t length : kLengths) {
    const auto row = random_matrix<float>(1, length, 8);
    std::vector<float> exact(row.row(0), row.row(0) + length);
    double expected = 0;
    for (const float x : exact) expected += static_cast<double>(x) * static_cast<double>(x);
    EXPECT_NEAR(kernels_->norm_float32(exact.data(), length) / std::sqrt(expected), 1, 1e-14);

    // 1, 1/2, 1/4 ... 1/16, signs in turn.
    std::vector<std::uint16_t> halves(length);
    expected = 0;
    for (std::size_t i = 0; i < length; ++i) {
      const auto exponent = static_cast<unsigned>(i % 5);
      halves[i] = static_cast<std::uint16_t>((15U - exponent) << 10U | (i % 2) << 15U);
      expected += std::pow(0.25, exponent);
    }
    EXPECT_NEAR(kernels_->norm_float16(halves.data(), length) / std::sqrt(expected), 1, 1e-14);
  }
}

TEST_P(KernelTest, AccumulatesInDouble) {
  for (const std::size_t count : kLengths) {
    const auto values = random_matrix<float>(1, count, 3);
    std::vector<double> sums(count + 1, 0.1);
    accumulate(*kernels_, values.row(0), count, sums.data());
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_EQ(sums[i], 0.1 + static_cast<double>(values.row(0)[i]));
    EXPECT_EQ(sums[count], 0.1);
  }
}

template <class Real>
void expect_plain_ranks(const Table& kernels) {
  for (const std::size_t count : kLengths)
    for (const unsigned distinct : {1U, 3U, 1'000'000U}) {
      std::mt19937 random(5);
      Matrix<Real> values(1, count);
      for (std::size_t i = 0; i < count; ++i)
        values.row(0)[i] = static_cast<Real>(random() % distinct);
      std::vector<std::uint32_t> found(padded(count));
      ranks(kernels, values.row(0), count, found.data());
      for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t before = 0;
        for (std::size_t other = 0; other < count; ++other)
          if (values.row(0)[other] < values.row(0)[i] ||
              (values.row(0)[other] == values.row(0)[i] && other < i))
            ++before;
        EXPECT_EQ(found[i], before) << i << " of " << count << ", " << distinct << " values";
      }
    }
}

TEST_P(KernelTest, RanksCountWhatIsLessOrEqualAndAhead) {
  expect_plain_ranks<float>(*kernels_);
  expect_plain_ranks<double>(*kernels_);
}

template <class Real>
void expect_plain_growth(const Table& kernels) {
  constexpr std::size_t stride = 48;
  for (const std::size_t ways : {1U, 4U, 5U, 7U, 12U})
    for (const std::size_t joining : {0U, 1U, 3U}) {
      const auto of_queries = random_matrix<Real>(3, stride, 6);
      const auto of_ways = random_matrix<Real>(1, joining * ways + 1, 7);
      auto sums = random_matrix<Real>(ways, stride, 8);
      const auto before = random_matrix<Real>(ways, stride, 8);
      grow_surrogate(kernels, SurrogateGrowth<Real>{.of_queries = of_queries.row(0),
                                                    .of_ways = of_ways.row(0),
                                                    .joining = joining,
                                                    .ways = ways,
                                                    .stride = stride,
                                                    .sums = sums.row(0)});
      for (std::size_t k = 0; k < ways; ++k)
        for (std::size_t q = 0; q < stride; ++q) {
          Real expected = before.row(k)[q];
          for (std::size_t t = 0; t < joining; ++t) {
            const Real difference = of_queries.row(t)[q] - of_ways.row(0)[t * ways + k];
            expected = std::fma(difference, difference, expected);
          }
          EXPECT_EQ(sums.row(k)[q], expected) << ways << " ways, " << joining << " joining";
        }
    }
}

TEST_P(KernelTest, SurrogatesGrowByEveryBaseClassInTurn) {
  expect_plain_growth<float>(*kernels_);
  expect_plain_growth<double>(*kernels_);
}

template <class Real>
void expect_plain_shares(const Table& kernels) {
  constexpr std::size_t stride = 32;
  for (const std::size_t ways : {1U, 5U, 7U}) {
    auto sums = random_matrix<Real>(ways, stride, 9);
    for (std::size_t k = 0; k < ways; ++k)
      for (std::size_t q = 0; q < stride; ++q)
        sums.row(k)[q] = q == 3 ? Real{0} : std::abs(sums.row(k)[q]);
    Matrix<Real> shares(ways, stride);
    surrogate_shares(kernels, sums.row(0), ways, stride, shares.row(0));
    for (std::size_t q = 0; q < stride; ++q) {
      Real total = 0;
      for (std::size_t k = 0; k < ways; ++k) total += std::sqrt(sums.row(k)[q]);
      for (std::size_t k = 0; k < ways; ++k)
        EXPECT_EQ(shares.row(k)[q], total > 0 ? std::sqrt(sums.row(k)[q]) * (1 / total) : Real{0});
    }
  }
}

TEST_P(KernelTest, SharesOfAZeroVectorAreZero) {
  expect_plain_shares<float>(*kernels_);
  expect_plain_shares<double>(*kernels_);
}

TEST_P(KernelTest, WidensEveryHalfAsIeeeSays) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const std::vector<std::uint16_t> row(19, half);
    std::vector<double> out(padded(row.size()));
    kernels_->widen_float16(row.data(), row.size(), out.data());
    const int exponent = static_cast<int>(bits >> 10U & 31U);
    const double fraction = static_cast<double>(bits & 1023U) / 1024;
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (exponent == 31)
        EXPECT_EQ(std::isinf(out[i]), fraction == 0) << bits;
      else
        EXPECT_EQ(out[i], (bits & 0x8000U) != 0 ? -magnitude : magnitude) << bits;
    }
  }
}

TEST_P(KernelTest, NormIsTheEuclideanOneAndPaddingIsCleared) {
  for (const std::size_t length : kLengths) {
    const auto row = random_matrix<float>(1, length, 5);
    std::vector<double> out(padded(length), 99);
    const double norm = kernels_->widen_float32(row.row(0), length, out.data());
    long double squares = 0;
    for (std::size_t i = 0; i < length; ++i)
      squares += static_cast<long double>(row.row(0)[i]) * static_cast<long double>(row.row(0)[i]);
    EXPECT_NEAR(norm, static_cast<double>(std::sqrt(squares)), 1e-14 * norm);
    for (std::size_t i = length; i < out.size(); ++i) EXPECT_EQ(out[i], 0);
  }
}

double ulps_apart(double value, long double exact) {
  const double nearest = static_cast<double>(exact);
  const double ulp = std::abs(std::nextafter(nearest, INFINITY) - nearest);
  return static_cast<double>(std::abs(static_cast<long double>(value) - exact) /
                             static_cast<long double>(ulp));
}

TEST_P(KernelTest, LogarithmIsWithinTwoUlp) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> exponent(-1040, 1000);
  std::uniform_real_distribution<double> near_one(0.5, 2);
  const RowTransform log{.lambda = 0, .ladder = Ladder::logarithm};
  for (int i = 0; i < 20000; ++i) {
    const double x = i % 2 == 0 ? std::exp2(exponent(random)) : near_one(random);
    double value = x;
    ASSERT_EQ(kernels_->transform(log, 1, 1, &value), RowStatus::ok);
    EXPECT_LE(ulps_apart(value, std::log(static_cast<long double>(x))), 2) << x;
  }
}

TEST_P(KernelTest, PowerIsWithinAFewUlpOfItsExponent) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> values(0, 3);
  for (const double exponent : {0.3, 1.7, -0.5, 3.0, -4.25, 12.5})
    for (int i = 0; i < 3000; ++i) {
      const double x = values(random);
      double value = x;
      kernels_->power(&value, 1, exponent);
      const long double exact =
          std::pow(static_cast<long double>(x), static_cast<long double>(exponent));
      const double conditioning = 2 + 2 * std::abs(exponent * std::log(x));
      EXPECT_LE(ulps_apart(value, exact), conditioning) << x << "^" << exponent;
    }
}

TEST_P(KernelTest, PowersOfZeroAreZeroOrInfinite) {
  for (const double exponent : {2.0, 0.5, 1.7}) {
    double zero = 0;
    kernels_->power(&zero, 1, exponent);
    EXPECT_EQ(zero, 0) << exponent;
  }
  for (const double exponent : {-2.0, -1.0, -1.7}) {
    double zero = 0;
    kernels_->power(&zero, 1, exponent);
    EXPECT_EQ(zero, std::numeric_limits<double>::infinity()) << exponent;
  }
}

TEST_P(KernelTest, GivesTheSameBitsAsTheGenericLevel) {
  const Table& generic = *table(Level::generic);
  for (const std::size_t length : kLengths) {
    const auto query = random_matrix<float>(1, length, 8);
    const auto centers = random_matrix<float>(7, length, 9);
    EXPECT_EQ(distances_by(*kernels_, query, centers), distances_by(generic, query, centers));
    EXPECT_EQ(dots_by(*kernels_, query, centers), dots_by(generic, query, centers));
    EXPECT_EQ(tiled_dots_by(*kernels_, centers, query, true, 0),
              tiled_dots_by(generic, centers, query, true, 0));
    EXPECT_EQ(kernels_->norm_float32(query.row(0), length),
              generic.norm_float32(query.row(0), length));
    const auto norms_by = [&](const Table& kernels) {
      std::vector<float> norms(centers.rows());
      add_squared_norms(kernels, rows_of(centers).data(), norms.size(), centers.stride(),
                        norms.data());
      return norms;
    };
    EXPECT_EQ(norms_by(*kernels_), norms_by(generic));
    const auto wide_query = random_matrix<double>(1, length, 8);
    const auto wide_centers = random_matrix<double>(7, length, 9);
    EXPECT_EQ(distances_by(*kernels_, wide_query, wide_centers),
              distances_by(generic, wide_query, wide_centers));

    for (const double lambda : {0.0, 0.5, 0.75, 1.0, 1.3, 2.0, -0.7, 3.0})
      for (const bool is_signed : {false, true}) {
        const Ladder ladder = lambda == 0      ? Ladder::logarithm
                              : lambda == 0.5  ? Ladder::square_root
                              : lambda == 0.75 ? Ladder::three_quarters
                              : lambda == 1    ? Ladder::identity
                              : lambda == 2    ? Ladder::square
                                               : Ladder::power;
        const RowTransform transform{1.5, 9.5, lambda, is_signed, ladder, 0.25};
        std::vector<double> here(padded(length));
        std::vector<double> there(padded(length));
        const double norm = kernels_->widen_float32(query.row(0), length, here.data());
        EXPECT_EQ(norm, generic.widen_float32(query.row(0), length, there.data()));
        EXPECT_EQ(kernels_->transform(transform, norm, length, here.data()), RowStatus::ok);
        EXPECT_EQ(generic.transform(transform, norm, length, there.data()), RowStatus::ok);
        EXPECT_EQ(here, there) << "lambda " << lambda << ", length " << length;
      }
  }
}

TEST(Kernels, TheGenericLevelIsAlwaysThere) {
  EXPECT_NE(table(Level::generic), nullptr);
}

}  // namespace
}  // namespace deepvoro::kernels
