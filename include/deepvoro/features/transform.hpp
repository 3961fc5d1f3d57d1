#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/core/matrix.hpp"
#include "deepvoro/features/store.hpp"
#include "deepvoro/kernels/kernels.hpp"

namespace deepvoro {

// The transformation P(w, b, lambda) of a feature row: L2 normalisation, then w*z + b, then Tukey's
// ladder z^lambda, or log z when lambda is 0. `is_signed` makes the ladder defined for negative
// input: sign(z)|z|^lambda, sign(z)log(1+|z|).
struct Transform {
  double w = 1;
  double b = 0;
  double lambda = 1;
  bool is_signed = false;

  auto operator<=>(const Transform&) const = default;
  [[nodiscard]] std::string id() const;
};

// The eight transformations of DeepVoro: lambda 0.5, 0.75, 1 and log with b = 1..5 times b0.
[[nodiscard]] std::vector<Transform> eight_transforms(double b0);

// One view of a split, read once for all its transformations: its elements as they are in the
// store, but laid out a block of columns after the other (the last one may be narrower), and the
// norm of every row. Reading throws a data error that names the first row with NaN or infinity.
class LoadedView {
 public:
  LoadedView(const FeatureStore& store, std::size_t block_columns, unsigned threads)
      : store_(store), block_columns_(block_columns), threads_(threads) {}

  // Reads a view in the place of the one before, into the same memory.
  void load(const std::string& split, const std::string& view);

  [[nodiscard]] std::size_t rows() const { return norms_.size(); }
  [[nodiscard]] std::size_t dim() const { return store_.dim(); }
  [[nodiscard]] ElementType element() const { return element_; }
  [[nodiscard]] double norm(std::size_t row) const { return norms_[row]; }
  [[nodiscard]] const std::string& file() const { return file_; }

  // The elements of a row from a column on, as far as they lie in one block.
  struct Run {
    const std::byte* data;
    std::size_t count;
  };
  [[nodiscard]] Run run(std::size_t row, std::size_t column) const;

 private:
  const FeatureStore& store_;
  std::size_t block_columns_;
  unsigned threads_;
  std::string file_;
  ElementType element_ = ElementType::float32;
  std::vector<double> norms_;
  Matrix<std::byte> blocks_;
};

// A point near the middle of a transformed view. Rows are kept less this point: distances do not
// feel it, but with the common part gone neither rounding nor cancellation shows.
[[nodiscard]] std::vector<float> center_of(const LoadedView& view, const Transform& transform);

// Applies one transformation to rows of a view and takes a center off the results. Safe to use from
// several threads, each with its own scratch of padded(dim) doubles. Refers to the view.
class RowTransformer {
 public:
  RowTransformer(const LoadedView& view, const Transform& transform, std::vector<float> center);

  [[nodiscard]] const std::vector<float>& center() const { return center_; }

  // Columns begin to begin+count of a row. Columns from dim on are written as zero.
  template <class Real>
  void columns(std::size_t row, std::size_t begin, std::size_t count, double* scratch,
               Real* out) const;

 private:
  // The following work on part of a row, within one block.
  template <class Real>
  void part(std::size_t row, std::size_t begin, LoadedView::Run run, double* scratch,
            Real* out) const;
  [[nodiscard]] bool quick_part(std::size_t row, std::size_t begin, LoadedView::Run run,
                                float* out) const;
  void exact_part(std::size_t row, std::size_t begin, LoadedView::Run run, double* scratch) const;
  [[noreturn]] void explain(kernels::RowStatus status, std::size_t row, std::size_t begin,
                            LoadedView::Run run, double* scratch) const;

  const LoadedView& view_;
  Transform transform_;
  kernels::RowTransform exact_;
  kernels::QuickTransform quick_;
  bool has_quick_;
  std::vector<float> center_;
  const kernels::Table& kernels_;
};

}  // namespace deepvoro
