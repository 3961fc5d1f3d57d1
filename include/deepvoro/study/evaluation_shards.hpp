#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/core/progress.hpp"
#include "deepvoro/shard/piece_dealer.hpp"
#include "deepvoro/study/evaluate.hpp"

namespace deepvoro {

// Evaluations divided among workers: a piece is a block of the episodes of one evaluation. Makes
// those dealt to it that `folder` does not have yet. What is measured besides accuracy, and what
// runs on a GPU, cannot be divided.
DEEPVORO_API ShareReport evaluate_share(const FeatureStore& store,
                                        std::span<const Evaluation> requests, PieceDealer& dealer,
                                        const std::filesystem::path& folder,
                                        const Progress& progress = {});

// What evaluate() gives for each of the evaluations, bit for bit but for times, which are added up.
struct MergedEvaluations {
  std::vector<EvaluationResult> results;
  std::string store_path;
  std::string store_sha256;
  std::optional<std::string> warning;  // of classes that the network has seen
};

// From the pieces in some folders. What is missing, there twice or of other work is a data error.
[[nodiscard]] DEEPVORO_API MergedEvaluations
merge_evaluations(std::span<const std::filesystem::path> folders, unsigned threads = 1);

}  // namespace deepvoro
