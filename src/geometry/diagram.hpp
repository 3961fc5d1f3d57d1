#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/matrix.hpp"

namespace deepvoro {

// One center for each cell; a query belongs to the cell of the nearest. Safe to share between
// threads once it has its centers.
template <class Real>
class VoronoiDiagram {
 public:
  VoronoiDiagram() = default;
  explicit VoronoiDiagram(MatrixView<const Real> centers);  // copies them
  explicit VoronoiDiagram(Matrix<Real> centers) : centers_(std::move(centers)) {}

  [[nodiscard]] std::size_t cells() const { return centers_.rows(); }
  [[nodiscard]] const Matrix<Real>& centers() const { return centers_; }
  // Centers to be filled anew, in the same memory where they have the same shape.
  [[nodiscard]] Matrix<Real>& reshaped(std::size_t cells, std::size_t dim);

  // From now on the distances of many queries are found by dot products, where that is quicker.
  // Centers and queries should lie around the origin, or digits are lost.
  void use_products();
  [[nodiscard]] static bool products_pay(std::size_t cells, std::size_t dim) {
    return cells >= 16 && dim >= 64;
  }

  // out[k] = distance of a padded row from center k.
  void distances(const Real* query, std::span<double> out) const;
  // The same for many, out: [cells x queries]. No query depends on its neighbours.
  void distances(MatrixView<const Real> queries, MatrixView<Real> out) const;
  // The nearest; of equals the first.
  [[nodiscard]] std::size_t cell(std::span<const Real> query) const;

 private:
  void distances_by_products(MatrixView<const Real> queries, MatrixView<Real> out) const;
  [[nodiscard]] Real by_differences(const Real* query, std::size_t k) const;

  Matrix<Real> centers_;
  std::vector<Real> squared_norms_;  // where products are used
};

extern template class VoronoiDiagram<float>;
extern template class VoronoiDiagram<double>;

}  // namespace deepvoro
