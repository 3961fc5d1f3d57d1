#include "network.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"
#include "pooling.hpp"

namespace deepvoro::native {
namespace {

// More would only take more memory.
constexpr std::size_t kPicturesAtOnce = 16;

std::span<const float> vector_of(const ModelFile& file, const std::string& name,
                                 std::size_t channels, TensorValues& kept) {
  kept = file.mapped_values(name, std::array{static_cast<std::int64_t>(channels)});
  return kept.values;
}

// x * factor + shift is x normalised.
struct Normalisation {
  std::vector<double> factors;
  std::vector<double> shifts;
};

Normalisation normalisation(const ModelFile& file, const std::string& name, std::size_t channels) {
  std::array<TensorValues, 4> kept;
  const auto weights = vector_of(file, name + ".weight", channels, kept[0]);
  const auto bias = vector_of(file, name + ".bias", channels, kept[1]);
  const auto means = vector_of(file, name + ".running_mean", channels, kept[2]);
  const auto variances = vector_of(file, name + ".running_var", channels, kept[3]);
  Normalisation result;
  for (std::size_t c = 0; c < channels; ++c) {
    const double factor =
        double{weights[c]} / std::sqrt(double{variances[c]} + kNormalisationEpsilon);
    result.factors.push_back(factor);
    result.shifts.push_back(double{bias[c]} - double{means[c]} * factor);
  }
  return result;
}

std::vector<float> rounded(const std::vector<double>& values) {
  std::vector<float> result(values.size());
  std::ranges::transform(values, result.begin(),
                         [](double value) { return static_cast<float>(value); });
  return result;
}

Weights weights_of(const ModelFile& file, const PlannedConvolution& plan) {
  const auto size = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  const std::array shape{size(plan.out), size(plan.in / plan.groups), size(plan.kernel),
                         size(plan.kernel)};
  TensorValues values = file.mapped_values(plan.name + ".weight", shape);
  Normalisation norm{std::vector<double>(plan.out, 1), std::vector<double>(plan.out, 0)};
  if (!plan.norm.empty()) norm = normalisation(file, plan.norm, plan.out);
  if (plan.bias) {
    TensorValues kept;
    const auto bias = vector_of(file, plan.name + ".bias", plan.out, kept);
    for (std::size_t c = 0; c < plan.out; ++c) norm.shifts[c] += double{bias[c]} * norm.factors[c];
  }
  return {.memory = std::move(values.memory),
          .values = values.values,
          .factors = std::move(norm.factors),
          .bias = rounded(norm.shifts),
          .in = plan.in / plan.groups,
          .out = plan.out,
          .kernel = plan.kernel,
          .slope = slope(plan.activation)};
}

// The linear map at the end, as a convolution of pictures of one place.
Weights embedding_of(const ModelFile& file, std::size_t in, std::size_t out) {
  const std::array shape{static_cast<std::int64_t>(out), static_cast<std::int64_t>(in)};
  TensorValues values = file.mapped_values("embedding.weight", shape);
  TensorValues kept;
  const auto bias = vector_of(file, "embedding.bias", out, kept);
  return {.memory = std::move(values.memory),
          .values = values.values,
          .factors = std::vector<double>(out, 1),
          .bias = {bias.begin(), bias.end()},
          .in = in,
          .out = out};
}

std::array<std::array<float, 256>, 3> scaled_bytes(const PixelScale& pixels) {
  std::array<std::array<float, 256>, 3> scaled{};
  for (std::size_t c = 0; c < scaled.size(); ++c)
    for (std::size_t byte = 0; byte < scaled[c].size(); ++byte)
      scaled[c][byte] = static_cast<float>(
          (static_cast<double>(byte) / 255 - double{pixels.mean[c]}) / double{pixels.deviation[c]});
  return scaled;
}

}  // namespace

Network::Network(const ModelFile& file, unsigned threads)
    : plan_(plan_of(file.description().architecture)),
      units_(plan_.units.size()),
      scaled_(scaled_bytes(file.description().pixels)) {
  parallel_for(threads, units_.size(), 1, [&](std::size_t i, std::size_t, unsigned) {
    if (const auto* rectifier = std::get_if<PlannedRectifier>(&plan_.units[i])) {
      const Normalisation norm = normalisation(file, rectifier->name, rectifier->channels);
      units_[i].rectifier = {rounded(norm.factors), rounded(norm.shifts)};
      return;
    }
    const auto& plan = std::get<PlannedConvolution>(plan_.units[i]);
    Weights weights = weights_of(file, plan);
    units_[i].convolution = plan.groups > 1 ? make_depthwise(std::move(weights), plan.stride)
                                            : make_convolution(std::move(weights), plan.stride);
  });
  if (plan_.embedding > 0)
    embedding_ = make_convolution(embedding_of(file, plan_.channels, plan_.embedding), 1);
}

void Network::run(std::span<const Bitmap> pictures, Workspace& work,
                  std::span<float> features) const {
  if (features.size() != pictures.size() * dim())
    throw internal_error("features are of an unexpected shape");
  for (std::size_t begin = 0; begin < pictures.size(); begin += kPicturesAtOnce)
    run_some(pictures.subspan(begin, std::min(kPicturesAtOnce, pictures.size() - begin)), work,
             features.data() + begin * dim());
}

void Network::run_some(std::span<const Bitmap> pictures, Workspace& work, float* features) const {
  std::vector<Maps> values(plan_.steps.size() + 1);
  values[0] = work.take();
  feed(pictures, work, values[0]);
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const PlannedStep& step = plan_.steps[i];
    values[i + 1] = work.take();
    run_step(step, values[step.x], step.other ? &values[*step.other] : nullptr, work,
             values[i + 1]);
    for (const std::size_t value : step.last_of) work.give_back(std::move(values[value]));
  }
  Maps& last = values.back();
  if (!embedding_) {
    average_over_places(last, work.threads, features);
  } else {
    Maps averages = work.take();
    average_over_places(last, work.threads,
                        averages.reshaped({pictures.size(), 1, 1, plan_.channels}));
    embedding_->run(averages.shape, averages.values(), nullptr, features, work);
    work.give_back(std::move(averages));
  }
  work.give_back(std::move(last));
}

void Network::feed(std::span<const Bitmap> pictures, Workspace& work, Maps& to) const {
  const Bitmap& first = pictures.front();
  float* values = to.reshaped({pictures.size(), first.height, first.width, 3});
  const std::size_t bytes = first.height * first.width * 3;
  for (const Bitmap& picture : pictures)
    if (picture.width != first.width || picture.height != first.height)
      throw internal_error("pictures of one batch differ in size");
  parallel_for(work.threads, pictures.size(), 1, [&](std::size_t i, std::size_t, unsigned) {
    const std::uint8_t* from = pictures[i].pixels.data();
    float* out = values + i * bytes;
    for (std::size_t byte = 0; byte < bytes; byte += 3)
      for (std::size_t c = 0; c < 3; ++c) out[byte + c] = scaled_[c][from[byte + c]];
  });
}

void Network::run_step(const PlannedStep& step, const Maps& x, const Maps* other, Workspace& work,
                       Maps& to) const {
  const Unit& unit = units_[step.unit];
  switch (step.kind) {
    case PlannedStep::Kind::convolution:
      return unit.convolution->run(x.shape, x.values(),
                                   other != nullptr ? other->values() : nullptr,
                                   to.reshaped(unit.convolution->result_of(x.shape)), work);
    case PlannedStep::Kind::rectifier:
      return rectify(x, unit.rectifier.factors, unit.rectifier.shifts, work.threads, to);
    case PlannedStep::Kind::max_pool:
      return pool(x, step.pool, kernels::network_kernels().largest, work.threads, to);
    case PlannedStep::Kind::average_pool:
      return pool(x, step.pool, kernels::network_kernels().mean, work.threads, to);
    case PlannedStep::Kind::concatenation:
      return concatenate(x, *other, work.threads, to);
  }
}

}  // namespace deepvoro::native
