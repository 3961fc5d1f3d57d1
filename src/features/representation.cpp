#include "representation.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "deepvoro/core/error.hpp"

namespace deepvoro {

void Representation::of(std::span<const Row> views, std::size_t dim, double* out) const {
  const kernels::Table& kernels = kernels::active();
  const std::vector<float> nothing(padded(dim));
  std::vector<double> scratch(padded(dim));
  std::vector<double> powers(padded(dim));
  std::fill_n(out, padded(dim), 0.0);
  for (const Row& view : views) {
    const double norm = widen(view.element, view.elements, dim, scratch.data());
    if (!std::isfinite(norm)) throw data_error("a feature is not finite; remove or repair it");
    if (plan_.apply(view.element, view.elements, dim, norm, nothing.data(), scratch.data(),
                    powers.data()) != kernels::RowStatus::ok)
      throw internal_error("a signed power is not defined");
    kernels::accumulate(kernels, powers.data(), padded(dim), out);
  }
  double squares = 0;
  kernels::add_squared_norm(kernels, std::as_const(out), padded(dim), &squares);
  if (!(squares > 0)) return;
  const double length = std::sqrt(squares);
  std::transform(out, out + padded(dim), out, [&](double value) { return value / length; });
}

}  // namespace deepvoro
