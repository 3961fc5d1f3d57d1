#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

void add_report_command(CLI::App& program);

}  // namespace deepvoro
