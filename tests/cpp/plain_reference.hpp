#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "deepvoro/ensemble/pool.hpp"
#include "deepvoro/episodes/episode.hpp"
#include "test_store.hpp"

// The formulas written down once more, without regard to speed, in long double.
namespace deepvoro::test {

using LongRow = std::vector<long double>;

[[nodiscard]] LongRow plain_transform(const std::vector<float>& row, const Transform& transform);

// Distances to the power of alpha, or the surrogate values in their place, [queries x ways].
[[nodiscard]] std::vector<double> plain_terms(const StoreData& store, const std::string& split,
                                              const Member& member, const Episode& episode,
                                              const EpisodeShape& shape, double alpha);

// How many queries are nearer to their own class than to any other, equally near ones after it not
// counting; distances are [queries x ways].
[[nodiscard]] std::uint32_t plain_correct_queries(const std::vector<double>& distances,
                                                  const EpisodeShape& shape);

}  // namespace deepvoro::test
