#pragma once

#include <string>

#include "deepvoro/study/tune.hpp"

namespace deepvoro {

// What tune prints of what it chose, whoever measured it: one process, or shares. `store` and
// `out`: as people named them.
void print_tuning(const Tuning& request, const TuningResult& result, const std::string& store,
                  const std::string& out);

}  // namespace deepvoro
