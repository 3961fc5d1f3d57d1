#pragma once

#include <vector>

#include "project/open_project.hpp"

namespace deepvoro::serve {

// A few drawings of three classes, to begin with.
[[nodiscard]] std::vector<ReadyMadePicture> ready_made_sketches();

}  // namespace deepvoro::serve
