#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

void add_test_command(CLI::App& program);

}  // namespace deepvoro
