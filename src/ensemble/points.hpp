#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "core/matrix.hpp"
#include "deepvoro/geometry/geometry.hpp"
#include "features/transformed_rows.hpp"

namespace deepvoro {

// What rows are multiplied with, element by element, to be a query or a center. Padded.
template <class Real>
struct PointScales {
  std::vector<Real> of_queries;
  std::vector<Real> of_centers;
};

// The rows of a split as a geometry sees them, which are made when they are asked for, or kept. The
// dot product of two rows is that of one as a query and the other as a center.
template <class Real>
class Points {
 public:
  Points() = default;
  Points(const Points&) = delete;
  Points& operator=(const Points&) = delete;
  virtual ~Points() = default;

  // Columns begin to begin+count of a row; those from its dimension on are zero. `scratch` has
  // padded(dim) elements.
  virtual void columns(std::size_t row, std::size_t begin, std::size_t count, double* scratch,
                       Real* out) const = 0;
  // The same of rows that follow each other: as many as `out` has, and its stride is the count.
  virtual void block(std::size_t first_row, std::size_t begin, double* scratch,
                     MatrixView<Real> out) const = 0;
  // nullptr: rows are queries and centers as they are.
  [[nodiscard]] virtual const PointScales<Real>* scales() const { return nullptr; }
};

// Transformed rows.
template <class Real>
class TransformedPoints final : public Points<Real> {
 public:
  explicit TransformedPoints(const RowTransformer& transformer) : transformer_(transformer) {}

  void columns(std::size_t row, std::size_t begin, std::size_t count, double* scratch,
               Real* out) const override {
    transformer_.columns(row, begin, count, scratch, out);
  }
  void block(std::size_t first_row, std::size_t begin, double* scratch,
             MatrixView<Real> out) const override {
    transformer_.block(first_row, begin, scratch, out);
  }

 private:
  const RowTransformer& transformer_;
};

// Transformed rows mapped into a space, for classes of `shots` samples.
template <class Real>
class MappedPoints final : public Points<Real> {
 public:
  MappedPoints(const RowTransformer& transformer, std::size_t rows, std::size_t dim,
               const Space& space, std::size_t shots, unsigned threads);

  void columns(std::size_t row, std::size_t begin, std::size_t count, double* scratch,
               Real* out) const override;
  void block(std::size_t first_row, std::size_t begin, double* scratch,
             MatrixView<Real> out) const override;
  [[nodiscard]] const PointScales<Real>* scales() const override {
    return scales_.of_queries.empty() ? nullptr : &scales_;
  }

 private:
  Matrix<Real> points_;
  PointScales<Real> scales_;
};

extern template class MappedPoints<float>;
extern template class MappedPoints<double>;

}  // namespace deepvoro
