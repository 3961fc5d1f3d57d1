#pragma once

#include <cstddef>
#include <functional>

namespace deepvoro {

// Called now and then during long work, from one thread, with the fraction that is done.
using Progress = std::function<void(double fraction)>;

// Progress of step `index` of `count` equal steps.
[[nodiscard]] inline Progress part_of(const Progress& whole, std::size_t index, std::size_t count) {
  if (!whole) return {};
  return [=](double fraction) {
    whole((static_cast<double>(index) + fraction) / static_cast<double>(count));
  };
}

}  // namespace deepvoro
