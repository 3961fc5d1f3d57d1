#pragma once

#include <string>

#include "report/drawing.hpp"
#include "report/recorded_study.hpp"

namespace deepvoro {

// A row of the table `panels` of the study `diagram`: its cells, and `points`, which are in them.
[[nodiscard]] Drawing diagram_panel(const StudyRows& panels, std::size_t row,
                                    const StudyRows& points, const std::string& title);

}  // namespace deepvoro
