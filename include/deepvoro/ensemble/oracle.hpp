#pragma once

#include <cstddef>

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

  static Oracle peek(const EpisodeSetting& setting, const ValidationRanking& ranking,
                     const Progress& progress = {});
};

}  // namespace deepvoro
