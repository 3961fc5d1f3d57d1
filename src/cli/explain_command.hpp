#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

void add_explain_command(CLI::App& program);

}  // namespace deepvoro
