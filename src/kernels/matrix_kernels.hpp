#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.hpp"

// The hot loops of covariances and their eigenvectors; the rules of kernels.hpp hold. All levels
// give the same bits.
namespace deepvoro::kernels {

// Columns `place` and `place` + 1 of a matrix, a and b, become c*a - s*b and s*a + c*b.
struct Rotation {
  double c = 1;
  double s = 0;
  std::uint32_t place = 0;
};

// So many numbers lie side by side in a panel.
inline constexpr std::size_t kPanel = 16;

struct MatrixTable {
  // Sums of products of elements over some rows. Element i of row r lies in
  // panels[(i / kPanel * rows + r) * kPanel + i % kPanel], and
  //   out[i * stride + j] += sum_r element(r, i) * element(r, j)
  // for all j from the beginning of the panel of i on, up to panel_count * kPanel. Each sum runs
  // over r in order.
  void (*add_outer_products)(const double* panels, std::size_t panel_count, std::size_t rows,
                             double* out, std::size_t stride);

  // Rotates columns of kPanel rows, one rotation after the other; element j of row r lies in
  // columns[j * kPanel + r].
  void (*rotate)(const Rotation* rotations, std::size_t count, double* columns);
};

// The table of a level that table() knows, and that of the level in use, see active().
[[nodiscard]] const MatrixTable& matrix_table(Level level);
[[nodiscard]] const MatrixTable& matrix_kernels();

}  // namespace deepvoro::kernels
