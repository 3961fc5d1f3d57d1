#pragma once

#include <span>
#include <string>

#include "study/paper/study_run.hpp"

namespace deepvoro {

// All studies, in the order of the paper.
[[nodiscard]] std::span<const PaperStudy> registered_studies();

// A usage error where there is none.
[[nodiscard]] const PaperStudy& study_named(const std::string& name);

}  // namespace deepvoro
