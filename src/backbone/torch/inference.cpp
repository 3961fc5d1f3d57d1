#include "inference.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/script.h>

#include <algorithm>
#include <utility>

#include "device.hpp"
#include "network_file.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;
using torch::Tensor;

// Squares of bytes to what a network is fed, [n, 3, height, width] in channels-last order.
class Feeder {
 public:
  Feeder(const PixelScale& pixels, torch::Device device, torch::ScalarType type)
      : device_(device), type_(type) {
    const auto channels = [&](const std::array<float, 3>& values) {
      return torch::tensor({values[0], values[1], values[2]});
    };
    factor_ = (1 / (255 * channels(pixels.deviation))).to(device);
    shift_ = (-channels(pixels.mean) / channels(pixels.deviation)).to(device);
  }

  // On CUDA there may be more rows than pictures: a last, smaller batch is filled up with anything,
  // because every new shape is tuned for.
  [[nodiscard]] Tensor operator()(std::span<const Image> pictures) {
    const Tensor bytes = bytes_of(pictures).to(device_, /*non_blocking=*/true);
    return bytes.to(torch::kFloat32).mul_(factor_).add_(shift_).to(type_).permute({0, 3, 1, 2});
  }

 private:
  [[nodiscard]] Tensor bytes_of(std::span<const Image> pictures) {
    const Image& first = pictures.front();
    const auto width = static_cast<std::int64_t>(first.width);
    const auto height = static_cast<std::int64_t>(first.height);
    auto rows = static_cast<std::int64_t>(pictures.size());
    if (device_.is_cuda()) rows = most_rows_ = std::max(rows, most_rows_);
    Tensor bytes = torch::empty({rows, height, width, 3},
                                torch::dtype(torch::kUInt8).pinned_memory(device_.is_cuda()));
    auto* out = bytes.data_ptr<std::uint8_t>();
    for (const Image& picture : pictures) {
      if (picture.width != first.width || picture.height != first.height)
        throw internal_error("pictures of one batch differ in size");
      out = std::copy(picture.pixels.begin(), picture.pixels.end(), out);
    }
    return bytes;
  }

  torch::Device device_;
  torch::ScalarType type_;
  Tensor factor_;
  Tensor shift_;
  std::int64_t most_rows_ = 0;
};

void copy_rows(const Tensor& features, std::span<float> out) {
  const Tensor values = features.to(torch::kCPU, torch::kFloat32).contiguous();
  if (static_cast<std::size_t>(values.numel()) != out.size())
    throw internal_error("features are of an unexpected shape");
  std::copy_n(values.data_ptr<float>(), out.size(), out.begin());
}

class NetworkBackbone final : public Backbone {
 public:
  NetworkBackbone(const Network& network, const ModelDescription& description, torch::Device device)
      : network_(network),
        pixels_(description.pixels),
        input_size_(description.input_size),
        smallest_input_(deepvoro::smallest_input(description.architecture)),
        feed_(description.pixels, device, working_type(device)) {}

  [[nodiscard]] std::size_t dim() const override { return network_.dim(); }
  [[nodiscard]] const PixelScale& pixels() const override { return pixels_; }
  [[nodiscard]] std::size_t input_size() const override { return input_size_; }
  [[nodiscard]] std::size_t smallest_input() const override { return smallest_input_; }

  void embed(std::span<const Image> pictures, std::span<float> out) override {
    if (pictures.empty()) return;
    as_our_errors([&] {
      const c10::InferenceMode inference;
      const auto count = static_cast<std::int64_t>(pictures.size());
      copy_rows(network_.forward(feed_(pictures)).narrow(0, 0, count), out);
    });
  }

 private:
  const Network& network_;
  PixelScale pixels_;
  std::size_t input_size_;
  std::size_t smallest_input_;
  Feeder feed_;
};

class ModelBackbone final : public Backbone {
 public:
  ModelBackbone(LoadedNetwork model, torch::Device device)
      : network_(std::move(model.network)), view_(*network_, model.description, device) {
    network_->to(device);
    network_->fold_normalisations();
    network_->prepare_convolutions(working_type(device));
  }

  [[nodiscard]] std::size_t dim() const override { return view_.dim(); }
  [[nodiscard]] const PixelScale& pixels() const override { return view_.pixels(); }
  [[nodiscard]] std::size_t input_size() const override { return view_.input_size(); }
  [[nodiscard]] std::size_t smallest_input() const override { return view_.smallest_input(); }
  void embed(std::span<const Image> pictures, std::span<float> out) override {
    view_.embed(pictures, out);
  }

 private:
  std::unique_ptr<Network> network_;
  NetworkBackbone view_;
};

// A module of the user's: what it returns is averaged over all places, if it has any.
class ScriptBackbone final : public Backbone {
 public:
  ScriptBackbone(const fs::path& file, torch::Device device, std::size_t input_size)
      : where_(file.string()), feed_({}, device, torch::kFloat32), input_size_(input_size) {
    try {
      module_ = torch::jit::load(file.string(), device);
      module_.eval();
      module_ = torch::jit::freeze(module_);
    } catch (const c10::Error&) {
      throw data_error(
          fmt::format("{}: is no TorchScript module; save one with torch.jit.save", where_));
    }
    // The number of features shows when a picture has gone through.
    const Image blank{input_size, input_size,
                      std::vector<std::uint8_t>(3 * input_size * input_size)};
    dim_ = static_cast<std::size_t>(run({&blank, 1}).size(1));
  }

  [[nodiscard]] std::size_t dim() const override { return dim_; }
  [[nodiscard]] const PixelScale& pixels() const override { return pixels_; }
  [[nodiscard]] std::size_t input_size() const override { return input_size_; }
  [[nodiscard]] std::size_t smallest_input() const override { return 1; }

  void embed(std::span<const Image> pictures, std::span<float> out) override {
    if (!pictures.empty()) copy_rows(run(pictures), out);
  }

 private:
  Tensor run(std::span<const Image> pictures) {
    try {
      const torch::NoGradGuard no_gradients;
      const Tensor input = feed_(pictures).contiguous();
      const torch::jit::IValue result = module_.forward({input});
      if (!result.isTensor())
        throw data_error(
            fmt::format("{}: returns no tensor; wrap it so that it returns features", where_));
      Tensor features = result.toTensor();
      if (features.dim() == 4) features = features.mean(torch::IntArrayRef{2, 3});
      if (features.dim() != 2 || features.size(0) != input.size(0))
        throw data_error(
            fmt::format("{}: returns a tensor of {} dimensions; [pictures, features] or [pictures, "
                        "features, height, width] were expected",
                        where_, features.dim()));
      return features.narrow(0, 0, static_cast<std::int64_t>(pictures.size()));
    } catch (const c10::Error& error) {
      throw data_error(fmt::format("{}: fails on pictures of {} pixels: {}; try another --size",
                                   where_, pictures.front().width, first_line(error.what())));
    } catch (const std::runtime_error& error) {  // raised inside the module
      if (dynamic_cast<const Error*>(&error) != nullptr) throw;
      throw data_error(fmt::format("{}: fails on pictures of {} pixels; try another --size", where_,
                                   pictures.front().width));
    }
  }
  static std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

  std::string where_;
  Feeder feed_;
  torch::jit::Module module_;
  PixelScale pixels_;
  std::size_t input_size_;
  std::size_t dim_ = 0;
};

}  // namespace

std::unique_ptr<Backbone> as_backbone(const Network& network, const ModelDescription& description,
                                      torch::Device device) {
  return std::make_unique<NetworkBackbone>(network, description, device);
}

std::unique_ptr<Backbone> open_backbone(const fs::path& model, const ComputeOptions& options) {
  at::set_num_threads(static_cast<int>(options.threads));
  const torch::Device device = device_named(options.device);
  if (is_torchscript(model))
    return std::make_unique<ScriptBackbone>(model, device, options.input_size);
  return std::make_unique<ModelBackbone>(read_network(model), device);
}

}  // namespace deepvoro
