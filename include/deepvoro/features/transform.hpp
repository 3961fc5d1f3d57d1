#pragma once

#include <compare>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

// The transformation P(w, b, lambda) of a feature row: L2 normalisation, then w*z + b, then Tukey's
// ladder z^lambda, or log z when lambda is 0. `is_signed` makes the ladder defined for negative
// input: sign(z)|z|^lambda, sign(z)log(1+|z|).
struct DEEPVORO_API Transform {
  double w = 1;
  double b = 0;
  double lambda = 1;
  bool is_signed = false;

  auto operator<=>(const Transform&) const = default;
  [[nodiscard]] std::string id() const;
};

// The eight transformations of DeepVoro: lambda 0.5, 0.75, 1 and log with b = 1..5 times b0.
[[nodiscard]] DEEPVORO_API std::vector<Transform> eight_transforms(double b0 = 0.02);

}  // namespace deepvoro
