#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

void add_serve_command(CLI::App& program);

}  // namespace deepvoro
