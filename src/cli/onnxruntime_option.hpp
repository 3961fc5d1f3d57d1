#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

// --onnxruntime PATH, of commands that run networks.
void add_onnxruntime_option(CLI::App& app);

}  // namespace deepvoro
