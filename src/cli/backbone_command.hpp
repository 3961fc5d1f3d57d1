#pragma once

#include <CLI/CLI.hpp>

namespace deepvoro {

// deepvoro backbone list|install: networks that are there by name, and getting more of them.
void add_backbone_command(CLI::App& program);

}  // namespace deepvoro
