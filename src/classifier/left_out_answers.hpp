#pragma once

#include <cstddef>
#include <vector>

#include "deepvoro/classifier/classifier.hpp"

namespace deepvoro {

// What is said of a sample that is left out of its class, as Calibration::left_out has it.
struct LeftOutAnswer {
  std::size_t sample = 0;
  std::size_t label = 0;
  std::vector<double> probabilities = {};  // of each class; none where the method is an ensemble
};

// In the order of the samples, without those that cannot be left out.
[[nodiscard]] std::vector<LeftOutAnswer> left_out_answers(const Classifier& classifier,
                                                          unsigned threads = 1);

}  // namespace deepvoro
