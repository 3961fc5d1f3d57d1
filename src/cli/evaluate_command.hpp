#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

void add_evaluate_command(CLI::App& program);

}  // namespace deepvoro
