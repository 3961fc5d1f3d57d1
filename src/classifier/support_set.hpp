#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/classifier/classifier.hpp"

namespace deepvoro {

// Samples in the one order that does not depend on how they came: classes by name, in each the
// samples by name.
struct SupportSet {
  std::vector<std::string> classes;
  std::vector<std::size_t> labels;
  std::vector<std::string> names;
  std::vector<std::vector<float>> rows;  // [views] of [samples x dim], without padding
  std::size_t dim = 0;

  [[nodiscard]] std::vector<std::size_t> shots() const;  // samples of each class
  [[nodiscard]] bool has_negative() const;
  [[nodiscard]] MatrixView<const float> view(std::size_t v) const {
    return {rows[v].data(), labels.size(), dim};
  }
  // Samples begin to end. Refers to this.
  [[nodiscard]] NamedSamples part(std::size_t begin, std::size_t end) const;
};

// All samples of some parts, `views` views of each. Throws a data error that names the class or
// sample when it cannot be used: a class without samples, a name that is there twice, a feature
// that is not finite.
[[nodiscard]] SupportSet joined(std::span<const NamedSamples> parts, std::size_t views);

}  // namespace deepvoro
