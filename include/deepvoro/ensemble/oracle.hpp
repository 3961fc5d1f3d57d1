#pragma once

#include <cstddef>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/core/progress.hpp"
#include "deepvoro/episodes/statistics.hpp"

namespace deepvoro {

struct EpisodeSetting;
class ValidationRanking;

// What one would get by choosing the guided size on the very split that is evaluated: test leakage,
// kept apart in a type that no evaluation accepts.
struct DEEPVORO_API Oracle {
  std::size_t size = 0;
  Estimate accuracy;
  std::vector<double> accuracy_by_size;  // of the best 1, 2, ... by validation together

  static Oracle peek(const EpisodeSetting& setting, const ValidationRanking& ranking,
                     const Progress& progress = {});
};

}  // namespace deepvoro
