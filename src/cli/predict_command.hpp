#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

void add_predict_command(CLI::App& program);

}  // namespace deepvoro
