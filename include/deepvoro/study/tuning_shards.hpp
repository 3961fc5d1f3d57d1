#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "deepvoro/core/export.hpp"
#include "deepvoro/core/progress.hpp"
#include "deepvoro/shard/piece_dealer.hpp"
#include "deepvoro/study/tune.hpp"

namespace deepvoro {

// A tuning divided among workers: a piece is a block of the episodes of one view. Makes those
// dealt to it that `folder` does not have yet. deepvoro++ and plda choose twice, the second time
// among what the first choice left; pieces of the second have to wait until all of the first are
// there.
DEEPVORO_API ShareReport tune_share(const FeatureStore& store, const Tuning& request,
                                    PieceDealer& dealer, const std::filesystem::path& folder,
                                    const Progress& progress = {});

// What was tuned, on which store, and what tune() gives for it.
struct MergedTuning {
  Tuning request;
  std::string store_path;
  TuningResult result;
};

// Writes the pool file that tune() writes, byte for byte, from the pieces in some folders. What is
// missing, there twice or of other work is a data error.
DEEPVORO_API MergedTuning merge_tuning(std::span<const std::filesystem::path> folders,
                                       const std::filesystem::path& out, unsigned threads = 1);

}  // namespace deepvoro
