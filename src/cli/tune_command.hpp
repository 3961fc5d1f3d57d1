#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

void add_tune_command(CLI::App& program);

}  // namespace deepvoro
