#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

// deepvoro store create|info|check
void add_store_command(CLI::App& program);

}  // namespace deepvoro
