#include "convolution.hpp"

#include <ATen/Parallel.h>

#include <array>
#include <utility>

#include "deepvoro/backbone/architecture.hpp"

namespace deepvoro {
namespace {

using torch::Tensor;

// What values below 0 are multiplied by.
float slope(Activation activation) {
  switch (activation) {
    case Activation::none:
      return 1;
    case Activation::relu:
      return 0;
    case Activation::leaky:
      return 0.1F;
  }
  return 1;
}

Tensor activated(Tensor x, Activation activation) {
  switch (activation) {
    case Activation::none:
      break;
    case Activation::relu:
      return x.relu_();
    case Activation::leaky:
      return torch::leaky_relu_(x, slope(activation));
  }
  return x;
}

}  // namespace

Tensor Convolution::apply(const Tensor& x, const Tensor& added) const {
  if (winograd) return apply_winograd(x, added);
  if (runs_in_one_pass(x)) return apply_in_one_pass(x, added);
  // Weights follow the type of the pictures, which may be bfloat16.
  const auto type = x.scalar_type();
  Tensor out = torch::conv2d(x, weight.to(type), bias.defined() ? bias.to(type) : bias, stride,
                             padding, 1, groups);
  if (norm && activation == Activation::relu && !added.defined())
    return norm->rectify({out, {}}).values;
  if (norm) out = norm->apply(out);
  if (added.defined()) out.add_(added);
  return activated(std::move(out), activation);
}

Sum Convolution::apply_without_adding(const Tensor& x, const Tensor& added) const {
  if (winograd) return {apply_winograd(x, added), {}};
  return {apply(x), added};
}

// cuDNN adds and rectifies while it convolves: a sixth of the time of a wide network.
bool Convolution::runs_in_one_pass(const Tensor& x) const {
  return x.is_cuda() && !norm && bias.defined() && activation == Activation::relu &&
         weight.scalar_type() == x.scalar_type() && !torch::GradMode::is_enabled();
}

Tensor Convolution::apply_in_one_pass(const Tensor& x, const Tensor& added) const {
  const std::array<std::int64_t, 2> strides{stride, stride};
  const std::array<std::int64_t, 2> paddings{padding, padding};
  const std::array<std::int64_t, 2> dilations{1, 1};
  if (added.defined())
    return torch::cudnn_convolution_add_relu(x, weight, added, 1, bias, strides, paddings,
                                             dilations, groups);
  return torch::cudnn_convolution_relu(x, weight, bias, strides, paddings, dilations, groups);
}

Tensor Convolution::apply_winograd(const Tensor& x, const Tensor& added) const {
  constexpr auto order = torch::MemoryFormat::ChannelsLast;
  const Tensor in = x.contiguous(order);
  const Tensor other = added.defined() ? added.contiguous(order) : added;
  Tensor out =
      torch::empty({in.size(0), weight.size(0), in.size(2), in.size(3)}, in.options(), order);
  const Winograd::Pictures pictures{in.data_ptr<float>(),
                                    out.data_ptr<float>(),
                                    other.defined() ? other.data_ptr<float>() : nullptr,
                                    static_cast<std::size_t>(in.size(0)),
                                    static_cast<std::size_t>(in.size(2)),
                                    static_cast<std::size_t>(in.size(3))};
  const auto blocks = static_cast<std::int64_t>(winograd->blocks(pictures));
  at::parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    winograd->run(pictures, static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
  });
  return out;
}

void Convolution::fold() {
  if (!norm) return;
  const Tensor factor = norm->weight.to(torch::kFloat64) /
                        (norm->variance.to(torch::kFloat64) + kNormalisationEpsilon).sqrt();
  Tensor shift = norm->bias.to(torch::kFloat64) - norm->mean.to(torch::kFloat64) * factor;
  if (bias.defined()) shift += bias.to(torch::kFloat64) * factor;
  const auto format = weight.suggest_memory_format();
  weight = weight.to(torch::kFloat64)
               .mul_(factor.view({-1, 1, 1, 1}))
               .to(torch::kFloat32)
               .contiguous(format);
  bias = shift.to(torch::kFloat32);
  norm.reset();
}

void Convolution::prepare(torch::ScalarType type) {
  weight = weight.detach().to(type);
  if (bias.defined()) bias = bias.detach().to(type);
  const auto in = static_cast<std::size_t>(weight.size(1));
  const auto out = static_cast<std::size_t>(weight.size(0));
  const bool is_plain = weight.size(2) == 3 && stride == 1 && groups == 1;
  if (!is_plain || !weight.is_cpu() || type != torch::kFloat32 || !Winograd::fits(in, out)) return;
  const Tensor values = weight.contiguous();
  const Tensor shift = bias.defined() ? bias : torch::zeros({weight.size(0)});
  winograd = std::make_unique<Winograd>(values.data_ptr<float>(), shift.data_ptr<float>(), in, out,
                                        slope(activation));
  weight = torch::empty_like(weight, torch::device(torch::kMeta));  // only its shape is needed
}

}  // namespace deepvoro
