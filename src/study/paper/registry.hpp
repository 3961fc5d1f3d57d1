#pragma once

#include <span>

#include "study/paper/study_run.hpp"

namespace deepvoro {

// All studies, in the order of the paper.
[[nodiscard]] std::span<const PaperStudy> registered_studies();

}  // namespace deepvoro
