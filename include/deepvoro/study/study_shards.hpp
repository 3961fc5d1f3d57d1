#pragma once

#include <filesystem>
#include <span>

#include "deepvoro/core/export.hpp"
#include "deepvoro/core/progress.hpp"
#include "deepvoro/shard/piece_dealer.hpp"
#include "deepvoro/study/paper_study.hpp"

namespace deepvoro {

// A study divided among workers: a piece is what it does for one store and number of shots. Makes
// those dealt to it that `folder` does not have yet. A study of times cannot be divided.
DEEPVORO_API ShareReport study_share(const StudyRequest& request, PieceDealer& dealer,
                                     const std::filesystem::path& folder,
                                     const Progress& progress = {});

// Writes the files that run_study() writes into `out`, byte for byte, from the pieces in some
// folders. What is missing, there twice or of other work is a data error.
DEEPVORO_API StudyResult merge_study(std::span<const std::filesystem::path> folders,
                                     const std::filesystem::path& out, unsigned threads = 1);

}  // namespace deepvoro
