#pragma once

#include <string>

#include "report/document.hpp"

namespace deepvoro {

// All panels of a figure below its title, as an SVG file that needs nothing else.
[[nodiscard]] std::string figure_svg(const Figure& figure);

}  // namespace deepvoro
