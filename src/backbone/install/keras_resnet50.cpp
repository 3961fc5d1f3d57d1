#include "keras_resnet50.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "backbone/model_file.hpp"

namespace deepvoro {
namespace {

constexpr std::array<int, 4> kBlocks{3, 4, 6, 3};

class Converter {
 public:
  Converter(const TfjsModel& model, std::span<const float> weights)
      : model_(model), weights_(weights), has_later_names_(model.has_weight("conv1_conv/kernel")) {}

  std::vector<OwnedTensor> run() {
    if (has_later_names_)
      convert({"conv1_conv", "conv1_bn"}, "conv1", "bn1");
    else
      convert({"conv1", "bn_conv1"}, "conv1", "bn1");
    reverse_channels(tensors_.front());
    for (std::size_t layer = 0; layer < kBlocks.size(); ++layer)
      for (int block = 0; block < kBlocks[layer]; ++block) {
        const std::string ours = fmt::format("layer{}.{}.", layer + 1, block);
        for (int i = 1; i <= 3; ++i)
          convert(layers_of(layer, block, i), fmt::format("{}conv{}", ours, i),
                  fmt::format("{}bn{}", ours, i));
        if (block == 0)
          convert(layers_of(layer, block, kShortcut), ours + "downsample.0", ours + "downsample.1");
      }
    return std::move(tensors_);
  }

 private:
  static constexpr int kShortcut = 0;

  struct Layers {
    std::string convolution;
    std::string norm;
  };

  // Of the convolutions 1 to 3 of a block, or of its shortcut.
  [[nodiscard]] Layers layers_of(std::size_t layer, int block, int convolution) const {
    if (has_later_names_) {
      const std::string start = fmt::format("conv{}_block{}_{}", layer + 2, block + 1, convolution);
      return {start + "_conv", start + "_bn"};
    }
    const std::string name = fmt::format(
        "{}{}_branch{}", layer + 2, static_cast<char>('a' + block),
        convolution == kShortcut ? std::string("1")
                                 : fmt::format("2{}", static_cast<char>('a' + convolution - 1)));
    return {"res" + name, "bn" + name};
  }

  void convert(const Layers& from, const std::string& to, const std::string& norm_to) {
    const std::string& convolution = from.convolution;
    const std::string& norm = from.norm;
    const std::uint64_t channels = add_kernel(convolution + "/kernel", to + ".weight");
    const auto vector = [&](const std::string& name) {
      const TfjsModel::Weight& weight = model_.weight(name, 1);
      if (weight.size != channels)
        model_.fail(fmt::format("'{}' has {} values for {} channels", name, weight.size, channels));
      return weights_.subspan(weight.offset, weight.size);
    };
    const auto add = [&](const char* name, const auto& value) {
      OwnedTensor& out = tensors_.emplace_back(OwnedTensor{norm_to + name, {channels}, {}});
      for (std::size_t i = 0; i < channels; ++i) out.values.push_back(static_cast<float>(value(i)));
    };
    const auto bias = vector(convolution + "/bias");
    const auto gamma = vector(norm + "/gamma");
    const auto beta = vector(norm + "/beta");
    const auto mean = vector(norm + "/moving_mean");
    const auto variance = vector(norm + "/moving_variance");
    // Later versions of Keras declare another epsilon for the same weights.
    const double epsilon = has_later_names_ ? kFirstEpsilon : model_.epsilon(norm);
    const double more = epsilon - kNormalisationEpsilon;
    add(".weight", [&](std::size_t i) { return gamma[i]; });
    add(".bias", [&](std::size_t i) { return beta[i]; });
    add(".running_mean", [&](std::size_t i) { return double{mean[i]} - double{bias[i]}; });
    add(".running_var", [&](std::size_t i) { return double{variance[i]} + more; });
  }

  // [height, width, in, out] to [out, in, height, width]. Returns the channels that come out.
  std::uint64_t add_kernel(const std::string& name, const std::string& to) {
    const TfjsModel::Weight& weight = model_.weight(name, 4);
    const auto [height, width, in, out] =
        std::array{weight.shape[0], weight.shape[1], weight.shape[2], weight.shape[3]};
    const auto from = weights_.subspan(weight.offset, weight.size);
    OwnedTensor& kernel = tensors_.emplace_back(
        OwnedTensor{to, {out, in, height, width}, std::vector<float>(weight.size)});
    const std::size_t places = height * width;
    for (std::size_t place = 0; place < places; ++place)
      for (std::size_t i = 0; i < in; ++i)
        for (std::size_t o = 0; o < out; ++o)
          kernel.values[(o * in + i) * places + place] = from[(place * in + i) * out + o];
    return out;
  }

  void reverse_channels(OwnedTensor& kernel) const {
    const std::size_t places = kernel.shape[2] * kernel.shape[3];
    if (kernel.shape[1] != 3) model_.fail("its first convolution does not take three colours");
    for (std::size_t o = 0; o < kernel.shape[0]; ++o) {
      float* blue = kernel.values.data() + 3 * o * places;
      std::swap_ranges(blue, blue + places, blue + 2 * places);
    }
  }

  static constexpr double kFirstEpsilon = 0.001;

  const TfjsModel& model_;
  std::span<const float> weights_;
  bool has_later_names_;
  std::vector<OwnedTensor> tensors_;
};

}  // namespace

std::vector<OwnedTensor> keras_resnet50_tensors(const TfjsPackage& package) {
  return Converter(package.model, package.weights).run();
}

void write_keras_resnet50(const TfjsPackage& package, const std::string& source,
                          const std::filesystem::path& file) {
  constexpr float byte = 255;  // Keras subtracts ImageNet's means from bytes as they are
  ModelDescription description;
  description.architecture.name = "resnet50";
  description.architecture.imagenet_stem = true;
  description.input_size = 224;
  description.pixels.mean = {123.68F / byte, 116.779F / byte, 103.939F / byte};
  description.pixels.deviation = {1 / byte, 1 / byte, 1 / byte};
  description.licence = "MIT";
  description.source = source;
  description.trained_on = "ImageNet";
  const std::vector<OwnedTensor> tensors = keras_resnet50_tensors(package);
  std::vector<FloatTensor> views;
  views.reserve(tensors.size());
  for (const OwnedTensor& tensor : tensors)
    views.push_back({tensor.name, tensor.shape, tensor.values});
  write_model_file(file, description, views, WeightType::float32);
}

}  // namespace deepvoro
