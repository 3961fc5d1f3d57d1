#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

// deepvoro train
void add_train_command(CLI::App& program);

}  // namespace deepvoro
