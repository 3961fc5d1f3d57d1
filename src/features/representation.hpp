#pragma once

#include <cstddef>
#include <span>

#include "features/transformed_rows.hpp"

namespace deepvoro {

// One point for a sample in all its views: the sum of the views' rows, each of unit length and its
// elements to a power (signed where they are negative), of unit length.
class Representation {
 public:
  explicit Representation(double exponent) : plan_({.lambda = exponent, .is_signed = true}) {}

  struct Row {
    ElementType element = ElementType::float32;
    const std::byte* elements = nullptr;
  };
  // out: padded(dim) elements. Throws a data error where a feature is not finite.
  void of(std::span<const Row> views, std::size_t dim, double* out) const;

 private:
  TransformPlan plan_;
};

}  // namespace deepvoro
