#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

void add_merge_command(CLI::App& program);

}  // namespace deepvoro
