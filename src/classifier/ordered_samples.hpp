#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "deepvoro/classifier/samples.hpp"

namespace deepvoro {

// Samples begin to end of some. Refers to them.
struct SamplesPart {
  const NamedSamples& of;
  std::size_t begin = 0;
  std::size_t end = of.labels.size();
};

// All samples of some parts, `views` views of each, in the one order that does not depend on how
// they came: classes by name, in each the samples by name. A sample that is in two parts, with the
// same features, counts once. Throws a data error that names the class
// or sample when it cannot be used: a class without samples, a name that appears twice, a feature
// that is not finite.
[[nodiscard]] NamedSamples ordered(std::span<const SamplesPart> parts, std::size_t views);

[[nodiscard]] std::vector<std::size_t> samples_per_class(const NamedSamples& samples);
[[nodiscard]] bool has_negative(const NamedSamples& samples);

}  // namespace deepvoro
