#pragma once

#include <filesystem>
#include <string>

#include "deepvoro/features/store.hpp"

namespace deepvoro {

// The store that a piece was made from, under the path that the piece says. One that is not there
// is a data error that names the piece.
[[nodiscard]] FeatureStore store_of_pieces(const std::filesystem::path& store,
                                           const std::string& piece);

}  // namespace deepvoro
