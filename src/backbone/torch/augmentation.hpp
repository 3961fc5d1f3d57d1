#pragma once

#include <torch/types.h>

#include "deepvoro/backbone/training.hpp"

namespace deepvoro {

// Bytes [n, side, side, 3] to what a network is trained on, [n, 3, size, size]: random crops of
// random size, flips, changes of brightness, contrast and saturation; scaled. Random numbers are
// drawn on the CPU, so that they are the same on every device.
[[nodiscard]] torch::Tensor augmented(const torch::Tensor& bytes, const TrainingOptions& options);

}  // namespace deepvoro
