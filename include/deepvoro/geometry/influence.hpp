#pragma once

#include <cstddef>
#include <span>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

// The influence function F(C, z) = -sign(alpha) * sum_i d(c_i, z)^alpha, for any non-zero alpha.
class DEEPVORO_API Influence {
 public:
  explicit Influence(double alpha);  // throws a usage error for 0, NaN and infinity

  [[nodiscard]] double alpha() const { return alpha_; }
  // What a sum of terms is multiplied with to become F: larger F is nearer.
  [[nodiscard]] double sign() const { return alpha_ > 0 ? -1 : 1; }
  // distances[i] becomes distances[i]^alpha.
  void to_terms(std::span<double> distances) const;

 private:
  double alpha_;
};

// The cell with the largest influence; the smallest index among equals.
[[nodiscard]] DEEPVORO_API std::size_t cell_of(std::span<const double> influence);

}  // namespace deepvoro
