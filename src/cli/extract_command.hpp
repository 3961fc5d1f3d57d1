#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

// deepvoro extract
void add_extract_command(CLI::App& program);

}  // namespace deepvoro
