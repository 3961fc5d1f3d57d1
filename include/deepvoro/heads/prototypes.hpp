#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deepvoro/core/matrix.hpp"
#include "deepvoro/kernels/kernels.hpp"

namespace deepvoro {

// Writes the mean of some rows: summed in double, in the order given. `sum` is scratch of a padded
// row. The mean of one row, or of equal rows, is that row exactly.
template <class Real>
void mean_of_rows(MatrixView<const Real> rows, std::span<const std::uint32_t> which,
                  std::vector<double>& sum, Real* out);

// The head of the nearest-prototype classifier: one mean a class. A head is fitted on support rows
// and then measures queries; it keeps its memory between fits, so use one for each thread.
template <class Real>
class PrototypeHead {
 public:
  PrototypeHead(std::size_t ways, std::size_t dim)
      : prototypes_(ways, dim), sum_(padded(dim)), kernels_(kernels::active()) {}

  // support: row indices, class by class, equally many of each.
  void fit(MatrixView<const Real> rows, std::span<const std::uint32_t> support);

  // out[k] = squared distance of a padded row to the prototype of class k.
  void squared_distances(const Real* query, double* out) const {
    kernels::squared_distances(kernels_, query, prototypes_.row(0), prototypes_.stride(),
                               prototypes_.rows(), prototypes_.stride(), out);
  }

  [[nodiscard]] MatrixView<const Real> prototypes() const { return prototypes_.view(); }

 private:
  Matrix<Real> prototypes_;
  std::vector<double> sum_;
  const kernels::Table& kernels_;
};

}  // namespace deepvoro
