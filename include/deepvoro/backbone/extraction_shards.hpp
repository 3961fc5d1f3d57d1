#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/backbone/extraction.hpp"
#include "deepvoro/core/export.hpp"
#include "deepvoro/core/progress.hpp"
#include "deepvoro/shard/piece_dealer.hpp"

namespace deepvoro {

struct ExtractedShare {
  ShareReport report;
  std::vector<std::string> skipped;  // as in ExtractionResult
  std::vector<std::string> notes;
};

// An extraction divided among workers: a piece is one view of a block of pictures. Makes those
// dealt to it that the folder `out` of the request does not have yet.
DEEPVORO_API ExtractedShare extract_share(const Extraction& request, Backbone& backbone,
                                          PieceDealer& dealer, const Progress& progress = {});

struct MergedExtraction {
  std::size_t pictures = 0;
  std::size_t views = 0;
  std::size_t dim = 0;
};

// The feature store that extract() makes, byte for byte, from the pieces in some folders. What is
// missing, there twice or of other work is a data error; then there is no store.
DEEPVORO_API MergedExtraction merge_extraction(std::span<const std::filesystem::path> folders,
                                               const std::filesystem::path& store);

}  // namespace deepvoro
