#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

void add_compare_command(CLI::App& program);

}  // namespace deepvoro
