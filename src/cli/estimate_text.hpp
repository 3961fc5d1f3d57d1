#pragma once

#include <fmt/format.h>

#include <string>

#include "deepvoro/episodes/statistics.hpp"

namespace deepvoro {

// "91.31 ± 0.23", or "+1.18 ± 0.21" for a difference.
[[nodiscard]] inline std::string with_interval(const Estimate& estimate, bool show_sign = false) {
  return show_sign ? fmt::format("{:+.2f} ± {:.2f}", estimate.mean, estimate.ci95)
                   : fmt::format("{:.2f} ± {:.2f}", estimate.mean, estimate.ci95);
}

}  // namespace deepvoro
