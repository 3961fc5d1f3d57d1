#include "device.hpp"

#include <ATen/Context.h>
#include <fmt/format.h>

#include "deepvoro/core/error.hpp"

namespace deepvoro {

torch::Device device_named(const std::string& name) {
  if (name == "cpu") return torch::kCPU;
  if (name != "cuda") throw usage_error(fmt::format("'{}' is not a device; use cpu or cuda", name));
  if (!at::hasCUDA())
    throw usage_error("`device` cuda: this LibTorch sees no CUDA device; use `device` cpu");
  // Shapes seldom change, so it pays to try every way to convolve once.
  at::globalContext().setBenchmarkCuDNN(true);
  return torch::kCUDA;
}

torch::ScalarType working_type(torch::Device device) {
  return device.is_cuda() ? torch::kBFloat16 : torch::kFloat32;
}

torch::Tensor placed(const torch::Tensor& weights, torch::Device device) {
  torch::Tensor moved = weights.detach().to(device);
  return moved.dim() == 4 ? moved.contiguous(torch::MemoryFormat::ChannelsLast) : moved;
}

torch::Tensor sent(const torch::Tensor& values, torch::Device device) {
  if (device.is_cpu()) return values;
  return values.pin_memory().to(device, /*non_blocking=*/true);
}

}  // namespace deepvoro
