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

struct RowPart {
  std::filesystem::path store;
  std::vector<std::string> splits;  // none: all that it has
};

// Writes a store of the rows of several, one part after the other in each split, as shards of one
// extraction are, or splits of different pictures. Features are not copied: the store says where
// they are, and the parts must stay there. All parts must have the same views and dimensions, and
// the same model as far as they say so. Classes of the same name within a split are one class.
DEEPVORO_API void join_rows(const std::vector<RowPart>& parts, const std::filesystem::path& output);

}  // namespace deepvoro
