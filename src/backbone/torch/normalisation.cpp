#include "normalisation.hpp"

#include "deepvoro/backbone/architecture.hpp"

#ifdef DEEPVORO_CUDA
#include <c10/cuda/CUDAStream.h>
#include <torch/autograd.h>

#include "normalisation_kernel.hpp"
#endif

namespace deepvoro {
namespace {

using torch::Tensor;

#ifdef DEEPVORO_CUDA
constexpr auto kOrder = torch::MemoryFormat::ChannelsLast;

bool has_kernels(const Tensor& x) {
  return x.is_cuda() && x.scalar_type() == torch::kBFloat16 && x.dim() == 4 && x.numel() > 0 &&
         x.size(1) % AddedRows::kWidth == 0 && x.size(1) <= AddedRows::kMostChannels;
}

void check_launch(const char* failure) {
  TORCH_CHECK(failure == nullptr, "CUDA: ", failure);
}

CUstream_st* stream() {
  return c10::cuda::getCurrentCUDAStream().stream();
}

Tensor floats_like(const Tensor& channels) {
  return torch::empty_like(channels, torch::kFloat32);
}

struct ChannelValues {
  Tensor mean;
  Tensor variance;
  Tensor weight;
  Tensor bias;
};

NormalisedChannels with(const ChannelValues& values) {
  return {.epsilon = static_cast<float>(kNormalisationEpsilon),
          .mean = values.mean.data_ptr<float>(),
          .variance = values.variance.data_ptr<float>(),
          .weight = values.weight.data_ptr<float>(),
          .bias = values.bias.data_ptr<float>()};
}

AddedRows rows_of(const Sum& parts, const Tensor& sum) {
  return {.x = parts.x.data_ptr(),
          .added = parts.added.defined() ? parts.added.data_ptr() : nullptr,
          .sum = sum.data_ptr(),
          .rows = sum.size(0) * sum.size(2) * sum.size(3),
          .channels = static_cast<int>(sum.size(1))};
}

// Room for a sum, or x itself where nothing is added.
Tensor room_for(const Sum& parts) {
  return parts.added.defined() ? torch::empty_like(parts.x) : parts.x;
}

Tensor scratch_for(const ChannelValues& values) {
  return torch::empty({scratch_of_sums(static_cast<int>(values.mean.size(0)))},
                      values.mean.options());
}

// Writes the sum. The running mean and variance are moved towards its own.
ChannelValues measured(const Sum& parts, const Tensor& sum, const Statistics& norm) {
  ChannelValues values{floats_like(norm.mean), floats_like(norm.variance), norm.weight.detach(),
                       norm.bias.detach()};
  const Tensor scratch = scratch_for(values);
  check_launch(launch_statistics(rows_of(parts, sum),
                                 {.scratch = scratch.data_ptr<float>(),
                                  .mean = values.mean.data_ptr<float>(),
                                  .variance = values.variance.data_ptr<float>(),
                                  .running_mean = norm.mean.data_ptr<float>(),
                                  .running_variance = norm.variance.data_ptr<float>(),
                                  .momentum = static_cast<float>(norm.momentum)},
                                 stream()));
  return values;
}

// Writes the sum, too.
Tensor rectified(const Sum& parts, const Tensor& sum, const ChannelValues& values) {
  Tensor out = torch::empty_like(sum);
  check_launch(launch_rectification(rows_of(parts, sum), with(values), out.data_ptr(), stream()));
  return out;
}

class Rectification : public torch::autograd::Function<Rectification> {
 public:
  // Weight and bias are those of the statistics, so that gradients reach them.
  static std::vector<Tensor> forward(torch::autograd::AutogradContext* context, const Tensor& x,
                                     const Tensor& added, const Tensor& /*weight*/,
                                     const Tensor& /*bias*/, const Statistics* norm) {
    const Sum parts{x, added.numel() > 0 ? added : Tensor()};
    const Tensor sum = room_for(parts);
    const ChannelValues values = measured(parts, sum, *norm);
    context->save_for_backward({sum, values.mean, values.variance, values.weight, values.bias});
    context->saved_data["adds"] = parts.added.defined();
    context->set_materialize_grads(false);
    return {rectified({sum, {}}, sum, values), sum};
  }

  static std::vector<Tensor> backward(torch::autograd::AutogradContext* context,
                                      const std::vector<Tensor>& gradients) {
    const auto of_inputs = [&](const Tensor& of_sum, const Tensor& of_weight,
                               const Tensor& of_bias) -> std::vector<Tensor> {
      const bool adds = context->saved_data["adds"].toBool();
      return {of_sum, adds ? of_sum : Tensor(), of_weight, of_bias, Tensor()};
    };
    if (!gradients[0].defined()) return of_inputs(gradients[1], {}, {});
    const std::vector<Tensor> saved = context->get_saved_variables();
    const Tensor& sum = saved[0];
    const ChannelValues values{saved[1], saved[2], saved[3], saved[4]};
    const Tensor of_values = gradients[0].contiguous(kOrder);
    const Tensor of_sum = gradients[1].defined() ? gradients[1].contiguous(kOrder) : Tensor();
    const Tensor scratch = scratch_for(values);
    Tensor of_weight = floats_like(values.weight);
    Tensor of_bias = floats_like(values.bias);
    Tensor out = torch::empty_like(sum);
    check_launch(launch_gradient(rows_of({sum, {}}, sum), with(values),
                                 {.of_values = of_values.data_ptr(),
                                  .of_sum = of_sum.defined() ? of_sum.data_ptr() : nullptr,
                                  .scratch = scratch.data_ptr<float>(),
                                  .of_weight = of_weight.data_ptr<float>(),
                                  .of_bias = of_bias.data_ptr<float>(),
                                  .out = out.data_ptr()},
                                 stream()));
    return of_inputs(out, of_weight, of_bias);
  }
};

Statistics::Rectified rectify_on_device(const Sum& x, const Statistics& norm) {
  const Sum parts{x.x.contiguous(kOrder),
                  x.added.defined() ? x.added.contiguous(kOrder) : Tensor()};
  if (norm.training && torch::GradMode::is_enabled()) {
    const Tensor nothing = torch::empty({0}, parts.x.options());  // has to be a tensor, too
    const std::vector<Tensor> both = Rectification::apply(
        parts.x, parts.added.defined() ? parts.added : nothing, norm.weight, norm.bias, &norm);
    return {both[0], both[1]};
  }
  const Tensor sum = room_for(parts);
  if (!norm.training)
    return {rectified(parts, sum, {norm.mean, norm.variance, norm.weight, norm.bias}), sum};
  const ChannelValues values = measured(parts, sum, norm);
  return {rectified({sum, {}}, sum, values), sum};
}
#endif

}  // namespace

Tensor Statistics::apply(const Tensor& x) const {
  return torch::batch_norm(x, weight, bias, mean, variance, training, momentum,
                           kNormalisationEpsilon, true);
}

Statistics::Rectified Statistics::rectify(const Sum& x) const {
#ifdef DEEPVORO_CUDA
  if (has_kernels(x.x) && (training || !torch::GradMode::is_enabled()))
    return rectify_on_device(x, *this);
#endif
  const Tensor sum = x.made();
  return {apply(sum).relu_(), sum};
}

}  // namespace deepvoro
