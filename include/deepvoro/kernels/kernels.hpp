#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// The hot loops. One body (src/kernels/body.hpp) is compiled once for each instruction-set level
// into a table of functions; all levels give the same bits: sums run in 16 partial sums joined by
// a fixed tree, multiply-add is fused at every level, and nothing else is reordered.
//
// Rows are padded as core/matrix.hpp says: `length` is a multiple of kRowPadding and the elements
// beyond a row's own are zero.
namespace deepvoro::kernels {

enum class Level { generic, avx2, avx512 };

[[nodiscard]] std::string_view name(Level level);

// Tukey's ladder y^lambda with the frequent rungs told apart, because they have quick forms.
enum class Ladder {
  identity,
  square_root,
  three_quarters,
  square,
  logarithm,
  even_power,  // lambda is a whole number, so negative y has a power too
  odd_power,
  power,
};

// Everything transform_row needs to know of a transformation.
struct RowTransform {
  double w = 1;
  double b = 0;
  double lambda = 1;
  bool is_signed = false;
  Ladder ladder = Ladder::identity;
  double shift = 0;  // subtracted from every result; distances do not feel it, rounding does
};

enum class RowStatus {
  ok,
  not_finite,     // the row holds NaN or infinity
  out_of_domain,  // log of a non-positive or fractional power of a negative number
  overflow,       // a result is infinite, or too large for a float32
};

struct Table {
  Level level;

  // `row` widened to double, and its Euclidean norm. Elements from dim on to padded(dim) are
  // written as zero.
  double (*widen_float16)(const std::uint16_t* row, std::size_t dim, double* out);
  double (*widen_float32)(const float* row, std::size_t dim, double* out);

  // Transforms a widened row of the given norm in place: divides by the norm (a zero row stays
  // zero), then w*z + b, then the ladder, then the shift. On a status other than ok the contents
  // are unspecified.
  RowStatus (*transform)(const RowTransform& transform, double norm, std::size_t dim, double* row);

  // out[i] = |query - center_i|^2, for `count` centers that lie `stride` elements apart.
  void (*squared_distances_float)(const float* query, const float* centers, std::size_t stride,
                                  std::size_t count, std::size_t length, double* out);
  void (*squared_distances_double)(const double* query, const double* centers, std::size_t stride,
                                   std::size_t count, std::size_t length, double* out);

  // values[i]^exponent for values[i] >= 0, exponent != 0.
  void (*power)(double* values, std::size_t count, double exponent);
};

// The level in use: what the environment variable DEEPVORO_ISA names (generic, avx2, avx512), or
// else the best this processor has. Throws a usage error when the variable names an unknown level
// or one the processor lacks.
[[nodiscard]] const Table& active();

// The table of one level; nullptr when this processor or this build cannot run it.
[[nodiscard]] const Table* table(Level level);

inline void squared_distances(const Table& table, const float* query, const float* centers,
                              std::size_t stride, std::size_t count, std::size_t length,
                              double* out) {
  table.squared_distances_float(query, centers, stride, count, length, out);
}
inline void squared_distances(const Table& table, const double* query, const double* centers,
                              std::size_t stride, std::size_t count, std::size_t length,
                              double* out) {
  table.squared_distances_double(query, centers, stride, count, length, out);
}

}  // namespace deepvoro::kernels
