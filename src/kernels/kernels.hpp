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

enum class Level { generic, avx2, avx512, neon };

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
  double shift = 0;  // subtracted from every result; affects rounding, not distances
};

// The same in float32, for ladders up to logarithm that are not signed.
struct QuickTransform {
  float w = 1;
  float b = 0;
  Ladder ladder = Ladder::identity;
  float lowest = 0;  // w*z + b must not be below; what is goes through `transform`
};

// Rows as they are in a store, and where they go. What follows the last of either is fetched, too.
template <class Element>
struct QuickRows {
  const Element* rows = nullptr;
  std::size_t row_stride = 0;
  const float* scales = nullptr;  // of each row
  std::size_t count = 0;
  const float* center = nullptr;
  std::size_t columns = 0;
  float* out = nullptr;
  std::size_t out_stride = 0;
};

enum class RowStatus {
  ok,
  not_finite,     // the row holds NaN or infinity
  out_of_domain,  // log of a non-positive or fractional power of a negative number
  overflow,       // a result is infinite, or too large for a float32
};

// Dot products of every query with every center, over `length` elements:
//   out[c * center_stride + q * query_stride] += queries[q] . centers[c]
template <class Real>
struct DotProducts {
  const Real* const* queries = nullptr;
  std::size_t query_count = 0;
  const Real* const* centers = nullptr;
  std::size_t center_count = 0;
  std::size_t length = 0;
  Real* out = nullptr;
  std::size_t center_stride = 0;
  std::size_t query_stride = 1;  // quickest
};

// As many dot products as the registers of a level hold lie side by side: those of a few queries
// and five centers are a tile, and there is a row of tiles for each five centers.
struct Tiles {
  static constexpr std::size_t kCenters = 5;

  std::size_t queries = 0;
  std::size_t centers = 0;
  std::size_t tile_queries = 1;
  std::size_t tile_elements = kCenters;  // tile_queries * kCenters, and some that are not used

  [[nodiscard]] constexpr std::size_t row_elements() const {
    return (queries + tile_queries - 1) / tile_queries * tile_elements;
  }
  [[nodiscard]] constexpr std::size_t elements() const {
    return (centers + kCenters - 1) / kCenters * row_elements();
  }
  [[nodiscard]] constexpr std::size_t place(std::size_t query, std::size_t center) const {
    return center / kCenters * row_elements() + query / tile_queries * tile_elements +
           center % kCenters * tile_queries + query % tile_queries;
  }
};

// Dot products of every query with every center, over `length` elements:
//   out[tiles.place(q, c)] = queries[q] . centers[c], or += if they `add` to what is there
// with tiles as they are in the table. `later`: rows that will be read next. They are fetched into
// the cache between the products, a few with each tile, as many as there are tiles for.
template <class Real>
struct TiledDots {
  const Real* const* queries = nullptr;
  const Real* const* centers = nullptr;
  Tiles tiles;
  std::size_t length = 0;
  Real* out = nullptr;
  bool add = true;
  const Real* const* later = nullptr;
  std::size_t later_count = 0;
};

// Dot products over this length are the quickest.
inline constexpr std::size_t kQuickLength = 128;

inline constexpr std::size_t kFlopsPerRound = 2 * 16 * 24;

// A squared distance that comes from dot products begins to lose digits where it is below this part
// of the squared norms of both points: 1 / kCancellation.
inline constexpr int kCancellation = 64;

// Surrogate representation, lanes are queries: for each of the base classes that join, one after
// the other, and each way k: sums[k][q] += (of_queries[t][q] - of_ways[t][k])^2.
template <class Real>
struct SurrogateGrowth {
  const Real* of_queries = nullptr;  // [joining x stride]
  const Real* of_ways = nullptr;     // [joining x ways]
  std::size_t joining = 0;
  std::size_t ways = 0;
  std::size_t stride = 0;
  Real* sums = nullptr;  // [ways x stride]
};

struct Table {
  Level level;

  // The Euclidean norm of a row, in double.
  double (*norm_float16)(const std::uint16_t* row, std::size_t dim);
  double (*norm_float32)(const float* row, std::size_t dim);

  // `row` widened to double, and its Euclidean norm. Elements from dim on to padded(dim) are
  // written as zero.
  double (*widen_float16)(const std::uint16_t* row, std::size_t dim, double* out);
  double (*widen_float32)(const float* row, std::size_t dim, double* out);

  // Transforms a widened row of the given norm in place: divides by the norm (a zero row stays
  // zero), then w*z + b, then the ladder, then the shift. On a status other than ok the contents
  // are unspecified.
  RowStatus (*transform)(const RowTransform& transform, double norm, std::size_t dim, double* row);

  // out[r][i] = ladder((w * scales[r]) * rows[r][i] + b) - center[i], to 2 ulp of the first term.
  // False when an element is out of the ladder's domain or near its end; out is then unspecified.
  bool (*quick_float16)(const QuickTransform& transform, const QuickRows<std::uint16_t>& rows);
  bool (*quick_float32)(const QuickTransform& transform, const QuickRows<float>& rows);

  void (*add_dots_float)(const DotProducts<float>& task);
  void (*add_dots_double)(const DotProducts<double>& task);
  std::size_t tile_queries;
  std::size_t tile_elements;
  void (*tiled_dots_float)(const TiledDots<float>& task);
  void (*tiled_dots_double)(const TiledDots<double>& task);

  // out[i] += |rows[i]|^2
  void (*add_squared_norms_float)(const float* const* rows, std::size_t count, std::size_t length,
                                  float* out);
  void (*add_squared_norms_double)(const double* const* rows, std::size_t count, std::size_t length,
                                   double* out);

  // out = mean of `count` rows, as first + (sum of differences to the first) / count.
  void (*mean_float)(const float* const* rows, std::size_t count, std::size_t length, float* out);
  void (*mean_double)(const double* const* rows, std::size_t count, std::size_t length,
                      double* out);

  // From dot products to distances: out[i] = sqrt(max(0, norms[i] - 2 dots[i])), where norms[i] is
  // the sum of the squared norms of both points. True when some squared distance loses digits: it
  // should then be computed again from differences (loses_digits).
  bool (*distances_float)(const float* norms, const float* dots, std::size_t count, float* out);
  bool (*distances_double)(const double* norms, const double* dots, std::size_t count, double* out);

  void (*grow_surrogate_float)(const SurrogateGrowth<float>& task);
  void (*grow_surrogate_double)(const SurrogateGrowth<double>& task);
  // out[i]: how many of `count` values are less than values[i], or equal and ahead of it. Both have
  // padded(count) elements; what is behind the last does not matter.
  void (*ranks_float)(const float* values, std::size_t count, std::uint32_t* out);
  void (*ranks_double)(const double* values, std::size_t count, std::uint32_t* out);
  // shares[k][q] = sqrt(sums[k][q]) / (sum of these over k), where a zero vector stays zero.
  void (*surrogate_shares_float)(const float* sums, std::size_t ways, std::size_t stride,
                                 float* shares);
  void (*surrogate_shares_double)(const double* sums, std::size_t ways, std::size_t stride,
                                  double* shares);
  // out[i] = a * x[i] + b * y[i]
  void (*combine_float)(float a, const float* x, float b, const float* y, std::size_t count,
                        float* out);
  void (*combine_double)(double a, const double* x, double b, const double* y, std::size_t count,
                         double* out);

  // out[i] = |query - center_i|^2, for `count` centers that lie `stride` elements apart.
  void (*squared_distances_float)(const float* query, const float* centers, std::size_t stride,
                                  std::size_t count, std::size_t length, double* out);
  void (*squared_distances_double)(const double* query, const double* centers, std::size_t stride,
                                   std::size_t count, std::size_t length, double* out);

  // sums[i] += values[i]. As many sums after these are fetched, too: often they are the next.
  void (*accumulate_float)(const float* values, std::size_t count, double* sums);
  void (*accumulate_double)(const double* values, std::size_t count, double* sums);

  // values[i]^exponent for values[i] >= 0, exponent != 0.
  void (*power)(double* values, std::size_t count, double exponent);

  // Nothing but fused multiply-adds, kFlopsPerRound operations a round: what benchmarks measure the
  // peak of a core with.
  double (*multiply_add_rounds)(std::size_t rounds);
};

// The level in use: what the environment variable DEEPVORO_ISA names (generic, avx2, avx512, neon),
// or else the best this processor has. Throws a usage error when the variable names an unknown
// level or one the processor lacks.
[[nodiscard]] const Table& active();

// The table of one level; nullptr when this processor or this build cannot run it.
[[nodiscard]] const Table* table(Level level);

// One name for both element types.
inline void add_dots(const Table& table, const DotProducts<float>& task) {
  table.add_dots_float(task);
}
inline void add_dots(const Table& table, const DotProducts<double>& task) {
  table.add_dots_double(task);
}
[[nodiscard]] inline Tiles tiles(const Table& table, std::size_t queries, std::size_t centers) {
  return {queries, centers, table.tile_queries, table.tile_elements};
}
inline void tiled_dots(const Table& table, const TiledDots<float>& task) {
  table.tiled_dots_float(task);
}
inline void tiled_dots(const Table& table, const TiledDots<double>& task) {
  table.tiled_dots_double(task);
}
inline void add_squared_norms(const Table& table, const float* const* rows, std::size_t count,
                              std::size_t length, float* out) {
  table.add_squared_norms_float(rows, count, length, out);
}
inline void add_squared_norms(const Table& table, const double* const* rows, std::size_t count,
                              std::size_t length, double* out) {
  table.add_squared_norms_double(rows, count, length, out);
}
// out += |row|^2
template <class Real>
void add_squared_norm(const Table& table, const Real* row, std::size_t length, Real* out) {
  add_squared_norms(table, &row, 1, length, out);
}
inline void mean(const Table& table, const float* const* rows, std::size_t count,
                 std::size_t length, float* out) {
  table.mean_float(rows, count, length, out);
}
inline void mean(const Table& table, const double* const* rows, std::size_t count,
                 std::size_t length, double* out) {
  table.mean_double(rows, count, length, out);
}
inline bool distances(const Table& table, const float* norms, const float* dots, std::size_t count,
                      float* out) {
  return table.distances_float(norms, dots, count, out);
}
inline bool distances(const Table& table, const double* norms, const double* dots,
                      std::size_t count, double* out) {
  return table.distances_double(norms, dots, count, out);
}
// Which of these distances it is. Decided as in the kernel, to the bit (twice a number is exact),
// so that no distance depends on those it was computed with.
template <class Real>
[[nodiscard]] bool loses_digits(Real norms, Real dot) {
  return (norms - 2 * dot) * kCancellation < norms;
}
inline void grow_surrogate(const Table& table, const SurrogateGrowth<float>& task) {
  table.grow_surrogate_float(task);
}
inline void grow_surrogate(const Table& table, const SurrogateGrowth<double>& task) {
  table.grow_surrogate_double(task);
}
inline void ranks(const Table& table, const float* values, std::size_t count, std::uint32_t* out) {
  table.ranks_float(values, count, out);
}
inline void ranks(const Table& table, const double* values, std::size_t count, std::uint32_t* out) {
  table.ranks_double(values, count, out);
}
inline void surrogate_shares(const Table& table, const float* sums, std::size_t ways,
                             std::size_t stride, float* shares) {
  table.surrogate_shares_float(sums, ways, stride, shares);
}
inline void surrogate_shares(const Table& table, const double* sums, std::size_t ways,
                             std::size_t stride, double* shares) {
  table.surrogate_shares_double(sums, ways, stride, shares);
}
inline void combine(const Table& table, float a, const float* x, float b, const float* y,
                    std::size_t count, float* out) {
  table.combine_float(a, x, b, y, count, out);
}
inline void combine(const Table& table, double a, const double* x, double b, const double* y,
                    std::size_t count, double* out) {
  table.combine_double(a, x, b, y, count, out);
}
inline void accumulate(const Table& table, const float* values, std::size_t count, double* sums) {
  table.accumulate_float(values, count, sums);
}
inline void accumulate(const Table& table, const double* values, std::size_t count, double* sums) {
  table.accumulate_double(values, count, sums);
}
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
