#pragma once

#include <cstddef>

namespace deepvoro {

// By multiplications alone, so the same bits on every machine.
[[nodiscard]] inline double whole_power(double base, std::size_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base)
    if (exponent % 2 == 1) result *= base;
  return result;
}

}  // namespace deepvoro
