#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/features/store.hpp"

namespace deepvoro {

// In the preprocessing that the provenance tells, where pictures were decoded at a fraction of
// their size: the side down to which they were.
inline constexpr const char* kFastDecodeSide = "fast_decode_side";

struct StoreDescription {
  std::size_t dim = 0;                      // of all views
  std::map<std::string, std::size_t> dims;  // by network, where views name theirs
  std::vector<std::string> views;
  std::map<std::string, FeatureStore::Split> splits;
  nlohmann::json provenance = nlohmann::json::object();
  std::vector<FeatureStore::Part> parts = {};  // where views are, if not here
};

// store.json, which makes a store of the folder.
void write_store_description(const std::filesystem::path& store,
                             const StoreDescription& description);

// Class index of each sample of a split, whose folder is there.
void write_store_labels(const std::filesystem::path& store, const std::string& split,
                        std::span<const std::int64_t> labels);

// What each row of a split was made from, a line each.
[[nodiscard]] std::filesystem::path names_file(const std::filesystem::path& store,
                                               const std::string& split);
void write_row_names(const std::filesystem::path& store, const std::string& split,
                     std::span<const std::string> names);

}  // namespace deepvoro
