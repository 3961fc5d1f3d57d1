#pragma once

#include <cstddef>
#include <vector>

#include "backbone/network_plan.hpp"
#include "workspace.hpp"

namespace deepvoro::native {

// Makes one place of some.
using JoinPlaces = void (*)(const float* const* places, std::size_t count, std::size_t channels,
                            float* out);

void pool(const Maps& x, const PlannedPool& pool, JoinPlaces join, unsigned threads, Maps& to);

// max(0, x * factor + shift)
void rectify(const Maps& x, const std::vector<float>& factors, const std::vector<float>& shifts,
             unsigned threads, Maps& to);

// The channels of both.
void concatenate(const Maps& x, const Maps& other, unsigned threads, Maps& to);

// [pictures x channels]
void average_over_places(const Maps& x, unsigned threads, float* out);

}  // namespace deepvoro::native
