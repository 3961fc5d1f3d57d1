#pragma once

#include <string>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

// How a classifier is made of a few samples of each class (docs/METHODS.md, Classifier).
enum class FitMethod {
  ridge_vd,  // one point per sample; a ridge regression and the nearest class mean, together
  deepvoro,  // an ensemble: every view with the eight transformations, or the members of a pool
  plda,      // every view, whitened by the statistics of the network
};

[[nodiscard]] DEEPVORO_API FitMethod fit_method_named(const std::string& name);
[[nodiscard]] DEEPVORO_API const char* name(FitMethod method);

}  // namespace deepvoro
