#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"

namespace deepvoro {

struct JoinPart {
  std::filesystem::path store;
  std::string network;  // empty: the name of the folder
};

// Writes one store with the views of several, each of another network: NETWORK/VIEW for every view
// of a part. A part that has networks already keeps their names. All parts must have the same
// splits with the same classes and labels, of the same pictures as far as they say so. The store
// appears whole or not at all.
DEEPVORO_API void join_stores(const std::vector<JoinPart>& parts,
                              const std::filesystem::path& output);

}  // namespace deepvoro
