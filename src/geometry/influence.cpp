#include "deepvoro/geometry/influence.hpp"

#include <algorithm>
#include <cmath>

#include "deepvoro/core/error.hpp"
#include "kernels/kernels.hpp"

namespace deepvoro {

Influence::Influence(double alpha) : alpha_(alpha) {
  if (alpha == 0 || !std::isfinite(alpha))
    throw usage_error("`alpha` must be a finite number other than 0; 1 is the usual choice");
}

void Influence::to_terms(std::span<double> distances) const {
  kernels::active().power(distances.data(), distances.size(), alpha_);
}

std::size_t cell_of(std::span<const double> influence) {
  return static_cast<std::size_t>(std::ranges::max_element(influence) - influence.begin());
}

}  // namespace deepvoro
