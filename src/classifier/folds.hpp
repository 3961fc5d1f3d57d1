#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace deepvoro {

// Some samples are left out of a fit, and the others are in it.
struct Fold {
  std::vector<std::size_t> in;
  std::vector<std::size_t> out;
};

// Sample j of a class is left out in fold j mod 5; one that is alone in its class never is. No
// folds where that are all, or there is a single class.
[[nodiscard]] std::vector<Fold> folds_of(std::span<const std::size_t> labels, std::size_t classes);

// How many samples of a class a fold has, for those that are left out: the harmonic mean.
[[nodiscard]] double shots_in_folds(std::span<const std::size_t> labels, std::size_t classes);
// The harmonic mean of the sizes of all classes.
[[nodiscard]] double mean_shots(std::span<const std::size_t> labels, std::size_t classes);

// Which of many samples are enough to measure a temperature: by class and in their order, from all
// parts of a class.
[[nodiscard]] std::vector<std::size_t> enough_samples(std::span<const std::size_t> labels,
                                                      std::size_t classes);

}  // namespace deepvoro
