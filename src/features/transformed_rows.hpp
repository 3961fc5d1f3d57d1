#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/features/store.hpp"
#include "deepvoro/features/transform.hpp"
#include "features/row_reader.hpp"
#include "features/row_set.hpp"
#include "kernels/kernels.hpp"

namespace deepvoro {

// One view of a split, read once for all its transformations: all rows, or some of them, and the
// norm of each. Reading throws a data error that names the first of these rows with NaN or
// infinity.
class LoadedView {
 public:
  // The elements are copied as they are in the store, but laid out a block of columns after the
  // other (the last one may be narrower). `some`: the rows that are wanted; nullptr: all. It must
  // outlive the view.
  LoadedView(const FeatureStore& store, std::size_t block_columns, unsigned threads,
             const RowSet* some = nullptr)
      : store_(store), block_columns_(block_columns), threads_(threads), some_(some) {}
  // All rows, as they are mapped: for those who look at each of them few times, in any number.
  [[nodiscard]] static LoadedView mapped(const FeatureStore& store, unsigned threads);

  // Reads a view in the place of the one before, into the same memory.
  void load(const std::string& split, const std::string& view);

  [[nodiscard]] std::size_t rows() const { return norms_.size(); }
  // Also those that are not wanted.
  [[nodiscard]] std::size_t rows_of_split() const { return some_ ? some_->all() : rows(); }
  [[nodiscard]] std::size_t row_in_split(std::size_t row) const {
    return some_ ? some_->rows()[row] : row;
  }
  // Where a row of the split is, which is one of those wanted.
  [[nodiscard]] std::size_t place(std::size_t row_in_split) const {
    return some_ ? some_->place(row_in_split) : row_in_split;
  }
  [[nodiscard]] std::size_t dim() const { return dim_; }
  [[nodiscard]] ElementType element() const { return element_; }
  [[nodiscard]] double norm(std::size_t row) const { return norms_[row]; }
  // What a row is multiplied with to have length 1; that of a zero row is 0.
  [[nodiscard]] const float* scale(std::size_t row) const { return scales_.data() + row; }
  [[nodiscard]] const std::string& file() const { return file_; }

  // The elements of a row from a column on, as far as they lie in one block.
  struct Run {
    const std::byte* data;
    std::size_t count;
    std::size_t stride;  // in elements, to the same of the next row; 0: it is somewhere
  };
  [[nodiscard]] Run run(std::size_t row, std::size_t column) const;

 private:
  void measure(std::size_t row, const std::byte* elements);
  void copy(const RowReader& reader);

  const FeatureStore& store_;
  std::size_t block_columns_;  // 0: mapped
  unsigned threads_;
  const RowSet* some_;
  std::string file_;
  std::size_t dim_ = 0;
  ElementType element_ = ElementType::float32;
  std::vector<double> norms_;
  std::vector<float> scales_;
  Matrix<std::byte> blocks_;
  std::optional<FeatureRows> mapped_;
};

// The rows that center_of() looks at, in a split of so many.
[[nodiscard]] std::vector<std::uint32_t> rows_for_center(std::size_t rows_of_split);

// A point near the middle of a transformed view. Rows are kept less this point: this does not
// affect distances, but with the common part gone neither rounding nor cancellation shows.
[[nodiscard]] std::vector<float> center_of(const LoadedView& view, const Transform& transform);

// A transformation made ready to run on rows in memory.
class TransformPlan {
 public:
  explicit TransformPlan(const Transform& transform);

  [[nodiscard]] const Transform& transform() const { return transform_; }

  // Transforms `count` elements of a row of the given norm and takes `center` off them. `scratch`
  // has padded(count) elements. On a status other than ok, out is unspecified.
  template <class Real>
  kernels::RowStatus apply(ElementType element, const std::byte* row, std::size_t count,
                           double norm, const float* center, double* scratch, Real* out) const;

  // The same of rows that follow each other, all with elements that take no more than float32;
  // false where some do, and out is unspecified.
  [[nodiscard]] bool apply_quickly(const LoadedView& view, std::size_t first_row,
                                   std::size_t column, const float* center, std::size_t columns,
                                   MatrixView<float> out) const;

  // What is wrong with the first element that apply() refuses; column counts from 0.
  struct Complaint {
    std::size_t column;
    std::string what;
    ErrorCode code;
  };
  [[nodiscard]] Complaint explain(ElementType element, const std::byte* row, std::size_t count,
                                  double norm, double* scratch) const;

 private:
  [[nodiscard]] bool quick(ElementType element, const std::byte* rows, std::size_t stride,
                           const float* scales, const float* center, std::size_t columns,
                           MatrixView<float> out) const;

  Transform transform_;
  kernels::RowTransform exact_;
  kernels::QuickTransform quick_;
  bool has_quick_;
};

// Applies one transformation to rows of a view and takes a center off the results. Safe to use from
// several threads, each with its own scratch of padded(dim) doubles. Refers to the view.
class RowTransformer {
 public:
  RowTransformer(const LoadedView& view, const Transform& transform, std::vector<float> center)
      : view_(view), plan_(transform), center_(std::move(center)) {}

  [[nodiscard]] const std::vector<float>& center() const { return center_; }

  // Columns begin to begin+count of a row. Columns from dim on are written as zero. Throws a data
  // error that names the place when a value cannot be transformed.
  template <class Real>
  void columns(std::size_t row, std::size_t begin, std::size_t count, double* scratch,
               Real* out) const;
  // The same of rows that follow each other: as many as `out` has, and its stride is the count.
  template <class Real>
  void block(std::size_t first_row, std::size_t begin, double* scratch, MatrixView<Real> out) const;

 private:
  const LoadedView& view_;
  TransformPlan plan_;
  std::vector<float> center_;
};

// Widens elements in memory to double, and gives their Euclidean norm. `out` has padded(count)
// elements; those beyond count are written as zero.
double widen(ElementType element, const std::byte* row, std::size_t count, double* out);

// Adds a row, divided by its norm, to `sum`; nothing where the norm is 0. What is not finite stays
// so. `scratch` has padded(count) elements.
void add_unit_row(ElementType element, const std::byte* row, std::size_t count, double* scratch,
                  double* sum);

}  // namespace deepvoro
