#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "deepvoro/core/matrix.hpp"

namespace deepvoro {

// The surrogate classes of one episode for every R at once. The set of R contains that of R-1, so
// it is kept as the base classes that join at each R. Reuse an object to reuse its memory.
class SurrogateClasses {
 public:
  // distances: [ways x base classes], of each prototype to each base prototype. Ties go to the
  // smaller base index; an R above the number of base classes means all of them.
  void select(MatrixView<const double> distances, std::size_t largest_R);

  // The base classes that are in the set of R but not in that of R-1, ascending. R from 1 on.
  [[nodiscard]] std::span<const std::size_t> joining_at(std::size_t R) const;

 private:
  std::vector<std::size_t> order_;     // scratch: base classes by distance
  std::vector<std::size_t> joins_at_;  // for each base class, the R at which it joins
  std::vector<std::size_t> joined_;    // base classes by joining R, then index
  std::vector<std::size_t> begin_;     // where in joined_ each R begins
};

// The value that takes the place of the distance: beta * d/|d|_1 + gamma * d''/|d''|_1, where a
// zero vector stays zero. d and d'' of one query, one element a class.
void combine_representations(std::span<const double> d, std::span<const double> surrogate_d,
                             double beta, double gamma, std::span<double> out);

}  // namespace deepvoro
