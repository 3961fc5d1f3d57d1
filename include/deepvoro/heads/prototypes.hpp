#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deepvoro/core/matrix.hpp"
#include "deepvoro/kernels/kernels.hpp"

namespace deepvoro {

// The prototype of a class: the mean of its support rows. The mean of one row, or of equal rows, is
// that row exactly. `out` has the stride of the rows; `scratch` saves allocating.
template <class Real>
void fit_prototype(MatrixView<const Real> rows, std::span<const std::uint32_t> support,
                   std::vector<const Real*>& scratch, Real* out);

}  // namespace deepvoro
