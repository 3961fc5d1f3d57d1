#include "kernels/matrix_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/matrix.hpp"
#include "test_store.hpp"

namespace deepvoro::kernels {
namespace {

using deepvoro::test::random_points;

class MatrixKernelTest : public ::testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (table(GetParam()) == nullptr) GTEST_SKIP() << "this processor has no " << name(GetParam());
    kernels_ = &matrix_table(GetParam());
  }
  const MatrixTable* kernels_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Levels, MatrixKernelTest,
                         ::testing::Values(Level::generic, Level::avx2, Level::avx512, Level::neon),
                         [](const auto& level) { return std::string(name(level.param)); });

std::vector<double> panels_of(const Matrix<double>& rows) {
  std::vector<double> panels(rows.stride() * rows.rows());
  for (std::size_t r = 0; r < rows.rows(); ++r)
    for (std::size_t i = 0; i < rows.stride(); ++i)
      panels[(i / kPanel * rows.rows() + r) * kPanel + i % kPanel] = rows.row(r)[i];
  return panels;
}

TEST_P(MatrixKernelTest, OuterProductsAgreeWithAPlainLoopAndTheGenericLevel) {
  for (const std::size_t dim : {1U, 16U, 17U, 50U})
    for (const std::size_t rows : {1U, 7U, 64U}) {
      const Matrix<double> points = random_points(rows, dim, 1);
      const std::vector<double> panels = panels_of(points);
      Matrix<double> out = random_points(points.stride(), points.stride(), 2);
      const Matrix<double> before = random_points(points.stride(), points.stride(), 2);
      Matrix<double> generic = random_points(points.stride(), points.stride(), 2);
      kernels_->add_outer_products(panels.data(), points.stride() / kPanel, rows, out.row(0),
                                   out.stride());
      matrix_table(Level::generic)
          .add_outer_products(panels.data(), points.stride() / kPanel, rows, generic.row(0),
                              generic.stride());
      for (std::size_t i = 0; i < points.stride(); ++i)
        for (std::size_t j = 0; j < points.stride(); ++j) {
          long double expected = before.row(i)[j];
          if (j >= i / kPanel * kPanel)
            for (std::size_t r = 0; r < rows; ++r)
              expected += static_cast<long double>(points.row(r)[i]) * points.row(r)[j];
          EXPECT_NEAR(out.row(i)[j], static_cast<double>(expected), 1e-13);
          EXPECT_EQ(out.row(i)[j], generic.row(i)[j]);
        }
    }
}

TEST_P(MatrixKernelTest, RotationsAgreeWithAPlainLoopAndTheGenericLevel) {
  constexpr std::size_t columns = 9;
  std::vector<Rotation> rotations;
  // Sweeps, jumps, and the same place twice.
  for (const std::uint32_t place : {0U, 1U, 2U, 3U, 7U, 2U, 2U, 3U, 0U, 6U, 7U}) {
    const double angle = 0.3 + 0.7 * static_cast<double>(rotations.size());
    rotations.push_back({std::cos(angle), std::sin(angle), place});
  }
  const Matrix<double> before = random_points(columns, kPanel, 3);
  Matrix<double> actual = random_points(columns, kPanel, 3);
  Matrix<double> generic = random_points(columns, kPanel, 3);
  kernels_->rotate(rotations.data(), rotations.size(), actual.row(0));
  matrix_table(Level::generic).rotate(rotations.data(), rotations.size(), generic.row(0));
  for (std::size_t r = 0; r < kPanel; ++r) {
    std::vector<long double> row;
    for (std::size_t j = 0; j < columns; ++j) row.push_back(before.row(j)[r]);
    for (const Rotation& rotation : rotations) {
      const long double a = row[rotation.place];
      const long double b = row[rotation.place + 1];
      row[rotation.place] = rotation.c * a - rotation.s * b;
      row[rotation.place + 1] = rotation.s * a + rotation.c * b;
    }
    for (std::size_t j = 0; j < columns; ++j) {
      EXPECT_NEAR(actual.row(j)[r], static_cast<double>(row[j]), 1e-14);
      EXPECT_EQ(actual.row(j)[r], generic.row(j)[r]);
    }
  }
}

TEST_P(MatrixKernelTest, NoRotationsChangeNothing) {
  Matrix<double> columns = random_points(3, kPanel, 4);
  const Matrix<double> before = random_points(3, kPanel, 4);
  kernels_->rotate(nullptr, 0, columns.row(0));
  for (std::size_t j = 0; j < 3; ++j)
    for (std::size_t r = 0; r < kPanel; ++r) EXPECT_EQ(columns.row(j)[r], before.row(j)[r]);
}

}  // namespace
}  // namespace deepvoro::kernels
