#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "deepvoro/shard/share.hpp"

namespace deepvoro {

void add_shard_option(CLI::App& app, std::string& shard);

void print_share(const Share& share, const ShareReport& report, const std::string& folder);

}  // namespace deepvoro
