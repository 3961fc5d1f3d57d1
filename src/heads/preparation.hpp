#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/features/store.hpp"
#include "features/transformed_rows.hpp"
#include "kernels/kernels.hpp"

namespace deepvoro {

// What a head's method does to a feature row before anything else, in this order.
struct Preparation {
  bool unit_first = false;     // scale to unit length; a zero row stays zero
  std::vector<double> origin;  // take this row off; empty: nothing
  double offset = 0;           // add to every element
  bool square_root = false;    // take the square root
  bool is_signed = false;      // sign(z) sqrt|z|, defined for negative numbers too
  bool unit_last = false;      // scale to unit length
};

// Prepares a row in place: padded(dim) elements, those from dim on zero, and its Euclidean norm. It
// is refused, and the row unspecified, where an element has no square root.
[[nodiscard]] kernels::RowStatus prepare_row(const Preparation& preparation, double norm,
                                             std::size_t dim, double* row);

// The error for a row that prepare_row() refuses. `where` names it.
[[nodiscard]] Error refused_row(const Preparation& preparation, const std::string& where,
                                std::span<const double> values);

// Some rows of a view of a split, prepared, in double; a row is named by its place in `some`. The
// constructor reads all of them and throws a data error that names the first one that cannot be
// prepared. Prepared rows are kept unless they need too much memory; then each is prepared when
// asked for. Safe to share between threads.
class PreparedView {
 public:
  static constexpr std::size_t kMostKeptBytes = std::size_t{1} << 30U;

  // `some`: the rows that are wanted, which are then named by their places among these; nullptr:
  // all. It must outlive the view.
  PreparedView(const FeatureStore& store, const std::string& split, const std::string& view,
               Preparation preparation, unsigned threads,
               std::size_t most_kept_bytes = kMostKeptBytes, const RowSet* some = nullptr);

  [[nodiscard]] std::size_t rows() const { return view_.rows(); }
  [[nodiscard]] std::size_t dim() const { return view_.dim(); }

  // A prepared row of padded(dim) elements, which may lie in `scratch`, of as many elements.
  [[nodiscard]] const double* row(std::size_t index, double* scratch) const;
  // Starts to bring a kept row into the cache.
  void fetch_ahead(std::size_t index) const;
  void gather(std::span<const std::uint32_t> rows, Matrix<double>& out) const;

 private:
  void prepare(std::size_t index, double* out) const;

  LoadedView view_;
  Preparation preparation_;
  Matrix<double> kept_;  // no rows where they would need too much memory
};

}  // namespace deepvoro
