#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "deepvoro/shard/share.hpp"

namespace deepvoro {

// --shard and the folder of its pieces.
void add_shard_options(CLI::App& app, std::string& shard, std::string& folder);

void print_share(const Share& share, const ShareReport& report, const std::string& folder);

}  // namespace deepvoro
