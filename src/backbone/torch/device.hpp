#pragma once

#include <torch/types.h>

#include <string>

namespace deepvoro {

// A device by its name, "cpu" or "cuda", made ready for networks.
[[nodiscard]] torch::Device device_named(const std::string& name);

// What pictures and hidden layers are kept in: bfloat16 on CUDA.
[[nodiscard]] torch::ScalarType working_type(torch::Device device);

// Weights, or what an optimiser keeps of them, on a device, in the order that convolutions want.
[[nodiscard]] torch::Tensor placed(const torch::Tensor& weights, torch::Device device);

// A copy of CPU values on a device, which may itself be the CPU. The program does not wait until
// earlier work on the device is done, as it would with memory that is not pinned.
[[nodiscard]] torch::Tensor sent(const torch::Tensor& values, torch::Device device);

}  // namespace deepvoro
