#pragma once

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

}  // namespace deepvoro
