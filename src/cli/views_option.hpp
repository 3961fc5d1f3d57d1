#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

// A number of views that there is, or names of views; only the former are checked.
[[nodiscard]] CLI::Validator views_text();

}  // namespace deepvoro
