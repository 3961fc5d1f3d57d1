#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/core/matrix.hpp"
#include "deepvoro/features/store.hpp"
#include "deepvoro/kernels/kernels.hpp"

namespace deepvoro {

// The transformation P(w, b, lambda) of a feature row: L2 normalisation, then w*z + b, then Tukey's
// ladder z^lambda, or log z when lambda is 0. `is_signed` makes the ladder defined for negative
// input: sign(z)|z|^lambda, sign(z)log(1+|z|).
struct Transform {
  double w = 1;
  double b = 0;
  double lambda = 1;
  bool is_signed = false;

  auto operator<=>(const Transform&) const = default;
  [[nodiscard]] std::string id() const;
};

// The eight transformations of DeepVoro: lambda 0.5, 0.75, 1 and log with b = 1..5 times b0.
[[nodiscard]] std::vector<Transform> eight_transforms(double b0);

// Applies one transformation to the rows of one view. Distances between its results are those of
// the transformation; the results themselves are moved by a constant (the image of a zero
// element), which keeps float32 rounding small. Safe to use from several threads, each with its
// own scratch of padded(dim) doubles.
class RowTransformer {
 public:
  RowTransformer(const FeatureRows& rows, const Transform& transform, std::string where);

  // out has padded(dim) elements; those beyond dim are written as zero.
  template <class Real>
  void row(std::size_t index, double* scratch, Real* out) const;

  [[nodiscard]] double shift() const { return plan_.shift; }

 private:
  void transform_in_scratch(std::size_t index, double* scratch) const;
  double widen(std::size_t index, double* scratch) const;
  [[noreturn]] void explain(kernels::RowStatus status, std::size_t index, double* scratch) const;

  const FeatureRows& rows_;
  Transform transform_;
  kernels::RowTransform plan_;
  std::string where_;
  const kernels::Table& kernels_;
};

}  // namespace deepvoro
