#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

void add_info_command(CLI::App& program);

}  // namespace deepvoro
