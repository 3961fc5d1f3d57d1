#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

void add_study_command(CLI::App& program);

}  // namespace deepvoro
