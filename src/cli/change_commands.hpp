#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

// deepvoro add, deepvoro remove
void add_change_commands(CLI::App& program);

}  // namespace deepvoro
