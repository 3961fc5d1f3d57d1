#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

void add_fit_command(CLI::App& program);

}  // namespace deepvoro
