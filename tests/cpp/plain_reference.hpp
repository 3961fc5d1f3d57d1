#pragma once

#include <cstddef>
#include <vector>

#include "deepvoro/ensemble/pool.hpp"
#include "deepvoro/episodes/episode.hpp"
#include "test_store.hpp"

// The formulas written down once more, without regard to speed, in long double.
namespace deepvoro::testing {

using LongRow = std::vector<long double>;

[[nodiscard]] LongRow plain_transform(const std::vector<float>& row, const Transform& transform);

// Distances to the power of alpha, or the surrogate values in their place, [queries x ways].
[[nodiscard]] std::vector<double> plain_terms(const StoreData& store, const std::string& split,
                                              const Configuration& member, const Episode& episode,
                                              const EpisodeShape& shape, double alpha);

}  // namespace deepvoro::testing
