#pragma once

#include <cstdint>
#include <string>

#include "deepvoro/ensemble/pool.hpp"
#include "deepvoro/episodes/reliability.hpp"
#include "ensemble/engine.hpp"

namespace deepvoro {

// Throws a usage error when something is asked for that is not measured of this method.
void check(const ReliabilityRequest& request, Method method);

// Fits a classifier on the support of every episode, with its own temperature and threshold, and
// asks it the episode's queries. For the open set as many others are drawn from the classes that
// are not in the episode: RandomState(seed + episode).permutation of their rows, the first ones.
// Members must be Voronoi ones, alpha 1.
[[nodiscard]] Reliability measure_reliability(const EpisodeSetting& setting, const Pool& members,
                                              const ReliabilityRequest& request,
                                              const Progress& progress = {});

}  // namespace deepvoro
