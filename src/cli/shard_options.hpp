#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "deepvoro/core/progress.hpp"
#include "deepvoro/shard/piece_dealer.hpp"

namespace deepvoro {

void add_shard_option(CLI::App& app, std::string& shard);

// Does a share of some work, with a progress bar.
using ShareOfWork = std::function<ShareReport(PieceDealer&, const Progress&)>;

// Does what --shard says, and prints what was done into a folder of pieces.
void run_shard(const std::string& shard, const std::string& folder, const ShareOfWork& work);

}  // namespace deepvoro
