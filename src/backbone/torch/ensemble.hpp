#pragma once

#include <torch/types.h>

#include <memory>

#include "ensemble/ensemble_device.hpp"

namespace deepvoro {

// Ensembles by LibTorch, on any of its devices. Distances are measured in float32 where the CPU's
// engine does so; surrogates in double, because the choice of base classes must not depend on
// rounding. Sums are in double. Points of members with a space of their own are made by the CPU.
[[nodiscard]] std::unique_ptr<EnsembleDevice> make_ensemble_device(torch::Device device);

}  // namespace deepvoro
