// The kernels of matrix_kernels.hpp, written once; body.hpp must be included first.
#pragma once

#include "kernels/matrix_kernels.hpp"

namespace {

// Rows of the result whose sums stay in registers.
#ifdef __AVX512F__
constexpr std::size_t kOuterRows = 4;
#else
constexpr std::size_t kOuterRows = 2;
#endif

void add_outer_products(const double* panels, std::size_t panel_count, std::size_t rows,
                        double* out, std::size_t stride) {
  for (std::size_t of_i = 0; of_i < panel_count; ++of_i)
    for (std::size_t of_j = of_i; of_j < panel_count; ++of_j) {
      const double* panel_j = panels + of_j * rows * dk::kPanel;
      for (std::size_t i = 0; i < dk::kPanel; i += kOuterRows) {
        const double* panel_i = panels + of_i * rows * dk::kPanel + i;
        DoubleLanes sums[kOuterRows];
        for (DoubleLanes& lanes : sums) lanes = DoubleLanes::zero();
        for (std::size_t r = 0; r < rows; ++r) {
          const DoubleLanes of_row = DoubleLanes::load(panel_j + r * dk::kPanel);
          for (std::size_t k = 0; k < kOuterRows; ++k)
            sums[k] =
                multiply_add(DoubleLanes::all_of(panel_i[r * dk::kPanel + k]), of_row, sums[k]);
        }
        for (std::size_t k = 0; k < kOuterRows; ++k) {
          double* to = out + (of_i * dk::kPanel + i + k) * stride + of_j * dk::kPanel;
          (DoubleLanes::load(to) + sums[k]).store(to);
        }
      }
    }
}

void rotate(const dk::Rotation* rotations, std::size_t count, double* columns) {
  const DoubleLanes zero = DoubleLanes::zero();
  // Rotations mostly follow each other: what was the second column is the next first one.
  DoubleLanes second = zero;
  auto place_of_second = static_cast<std::size_t>(-1);
  for (std::size_t i = 0; i < count; ++i) {
    double* at = columns + rotations[i].place * dk::kPanel;
    if (rotations[i].place != place_of_second) {
      if (i > 0) second.store(columns + place_of_second * dk::kPanel);
      second = DoubleLanes::load(at);
    }
    const DoubleLanes first = second;
    const DoubleLanes other = DoubleLanes::load(at + dk::kPanel);
    const DoubleLanes c = DoubleLanes::all_of(rotations[i].c);
    const DoubleLanes s = DoubleLanes::all_of(rotations[i].s);
    const DoubleLanes minus_s = DoubleLanes::all_of(-rotations[i].s);
    multiply_add(c, first, multiply_add(minus_s, other, zero)).store(at);
    second = multiply_add(s, first, multiply_add(c, other, zero));
    place_of_second = rotations[i].place + 1;
  }
  if (count > 0) second.store(columns + place_of_second * dk::kPanel);
}

constexpr dk::MatrixTable make_matrix_table() {
  return {.add_outer_products = add_outer_products, .rotate = rotate};
}

}  // namespace
