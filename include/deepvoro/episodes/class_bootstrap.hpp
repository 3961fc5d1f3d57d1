#pragma once

#include <cstddef>
#include <span>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

struct Interval {
  double low = 0;
  double high = 0;
};

inline constexpr std::size_t kClassResamples = 10'000;

// The 95% interval of the mean of a value per episode, were other classes of the same kind to be
// had: episodes that share a class are not independent, and there are as few classes as there are,
// however many episodes are drawn from them. By as much as leaving a class out would lower the
// mean, to first order (classes - 1) / (classes - ways) / episodes times the sum of what the
// episodes that contain it deviate from it, having the class raises it. As many classes as there
// are, are drawn with replacement, and what they raise the mean by is added up. The percentiles 2.5
// and 97.5 of such sums are interpolated as NumPy does, and draws are floor(classes * uniform()) of
// its RandomState(0). `classes_of`: [episodes x ways], each below `classes`; there must be more
// classes than ways.
[[nodiscard]] DEEPVORO_API Interval class_bootstrap(std::span<const double> values,
                                                    std::span<const std::size_t> classes_of,
                                                    std::size_t classes);

}  // namespace deepvoro
