#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "deepvoro/classifier/samples.hpp"
#include "deepvoro/features/store.hpp"

namespace deepvoro {

// Throws a data error where the store has several networks, which no classifier has.
void check_one_network(const FeatureStore& store);

// Samples of a split, or those of one class; without names.
[[nodiscard]] NamedSamples read_samples(const FeatureStore& store, const std::string& split,
                                        const std::vector<std::string>& views,
                                        const std::optional<std::string>& class_name = {});

// Those of one class that known samples of the same class do not have yet, with the same features.
// A command that is repeated adds nothing again.
[[nodiscard]] NamedSamples new_among(const NamedSamples& samples, const NamedSamples& known);

// Rows of a .npy, .npz, .h5, .safetensors or pickle file, without labels: one array with the views
// of each row side by side, or an array per view that has its name.
[[nodiscard]] NamedSamples read_rows(const std::filesystem::path& file,
                                     const std::vector<std::string>& views, std::size_t dim);

}  // namespace deepvoro
