#include "inference.hpp"

#include <ATen/Parallel.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <torch/script.h>

#include <algorithm>
#include <array>
#include <optional>
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
  [[nodiscard]] Tensor operator()(std::span<const Bitmap> pictures) {
    const Tensor bytes = bytes_of(pictures).to(device_, /*non_blocking=*/true);
    return bytes.to(torch::kFloat32).mul_(factor_).add_(shift_).to(type_).permute({0, 3, 1, 2});
  }

 private:
  [[nodiscard]] Tensor bytes_of(std::span<const Bitmap> pictures) {
    const Bitmap& first = pictures.front();
    const auto width = static_cast<std::int64_t>(first.width);
    const auto height = static_cast<std::int64_t>(first.height);
    auto rows = static_cast<std::int64_t>(pictures.size());
    if (device_.is_cuda()) rows = most_rows_ = std::max(rows, most_rows_);
    Tensor bytes = torch::empty({rows, height, width, 3},
                                torch::dtype(torch::kUInt8).pinned_memory(device_.is_cuda()));
    auto* out = bytes.data_ptr<std::uint8_t>();
    for (const Bitmap& picture : pictures) {
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

class PendingRows final : public PendingFeatures {
 public:
  PendingRows(Tensor rows, std::optional<c10::Stream> stream)
      : rows_(std::move(rows)), stream_(stream) {}

  void copy_to(std::span<float> out) override {
    if (stream_) as_our_errors([&] { stream_->synchronize(); });
    if (static_cast<std::size_t>(rows_.numel()) != out.size())
      throw internal_error("features are of an unexpected shape");
    std::copy_n(rows_.data_ptr<float>(), out.size(), out.begin());
  }

 private:
  Tensor rows_;  // in pinned memory where there is a stream
  std::optional<c10::Stream> stream_;
};

// Batches take turns on two streams of a device, so that it has work while one of them is waited
// for.
class Lanes {
 public:
  explicit Lanes(torch::Device device) {
    if (!device.is_cuda()) return;
    const c10::impl::VirtualGuardImpl streams(device.type());
    const torch::Device current = streams.getDevice();
    for (auto& lane : lanes_) lane = streams.getStreamFromGlobalPool(current);
  }

  // `features` of pictures, [at least `count` x dim].
  template <class Features>
  [[nodiscard]] std::unique_ptr<PendingFeatures> begin(std::size_t count,
                                                       const Features& features) {
    const std::optional<c10::Stream> lane = lanes_[turn_];
    turn_ = 1 - turn_;
    std::optional<c10::StreamGuard> guard;
    if (lane) {
      wait_for_earlier_work(*lane);
      guard.emplace(*lane);
    }
    const Tensor rows = features().narrow(0, 0, static_cast<std::int64_t>(count));
    if (!lane)
      return std::make_unique<PendingRows>(rows.to(torch::kFloat32).contiguous(), std::nullopt);
    Tensor host = torch::empty(rows.sizes(), torch::dtype(torch::kFloat32).pinned_memory(true));
    host.copy_(rows, /*non_blocking=*/true);
    return std::make_unique<PendingRows>(std::move(host), lane);
  }

 private:
  // Weights may just have been written.
  static void wait_for_earlier_work(const c10::Stream& lane) {
    const c10::impl::VirtualGuardImpl streams(lane.device_type());
    c10::Event written(lane.device_type());
    written.record(streams.getStream(lane.device()));
    written.block(lane);
  }

  std::array<std::optional<c10::Stream>, 2> lanes_;
  std::size_t turn_ = 0;
};

class NetworkBackbone final : public Backbone {
 public:
  NetworkBackbone(const Network& network, const ModelDescription& description, torch::Device device)
      : network_(network),
        pixels_(description.pixels),
        input_size_(description.input_size),
        smallest_input_(deepvoro::smallest_input(description.architecture)),
        light_strokes_(description.light_strokes),
        feed_(description.pixels, device, working_type(device)),
        lanes_(device) {}

  [[nodiscard]] std::size_t dim() const override { return network_.dim(); }
  [[nodiscard]] const PixelScale& pixels() const override { return pixels_; }
  [[nodiscard]] std::size_t input_size() const override { return input_size_; }
  [[nodiscard]] std::size_t smallest_input() const override { return smallest_input_; }
  [[nodiscard]] bool light_strokes() const override { return light_strokes_; }

  [[nodiscard]] std::unique_ptr<PendingFeatures> begin(std::span<const Bitmap> pictures) override {
    return as_our_errors([&] {
      const c10::InferenceMode inference;
      return lanes_.begin(pictures.size(), [&] { return network_.forward(feed_(pictures)); });
    });
  }

 private:
  const Network& network_;
  PixelScale pixels_;
  std::size_t input_size_;
  std::size_t smallest_input_;
  bool light_strokes_;
  Feeder feed_;
  Lanes lanes_;
};

class ModelBackbone final : public Backbone {
 public:
  ModelBackbone(LoadedNetwork model, torch::Device device)
      : network_(std::move(model.network)), view_(*network_, model.description, device) {
    network_->to(device);
    network_->fold_normalisations();
    network_->convert_convolutions(working_type(device));
  }

  [[nodiscard]] std::size_t dim() const override { return view_.dim(); }
  [[nodiscard]] const PixelScale& pixels() const override { return view_.pixels(); }
  [[nodiscard]] std::size_t input_size() const override { return view_.input_size(); }
  [[nodiscard]] std::size_t smallest_input() const override { return view_.smallest_input(); }
  [[nodiscard]] bool light_strokes() const override { return view_.light_strokes(); }
  [[nodiscard]] std::unique_ptr<PendingFeatures> begin(std::span<const Bitmap> pictures) override {
    return view_.begin(pictures);
  }

 private:
  std::unique_ptr<Network> network_;
  NetworkBackbone view_;
};

// A module of the user's: what it returns is averaged over all places, if it has any.
class ScriptBackbone final : public Backbone {
 public:
  ScriptBackbone(const fs::path& file, torch::Device device, std::size_t input_size)
      : where_(file.string()),
        feed_({}, device, torch::kFloat32),
        lanes_(device),
        input_size_(input_size) {
    try {
      module_ = torch::jit::load(file.string(), device);
      module_.eval();
      module_ = torch::jit::freeze(module_);
    } catch (const c10::Error&) {
      throw data_error(
          fmt::format("{}: is not a TorchScript module; save one with torch.jit.save", where_));
    }
    // The number of features shows when a picture has gone through.
    const Bitmap blank{input_size, input_size,
                       std::vector<std::uint8_t>(3 * input_size * input_size)};
    dim_ = static_cast<std::size_t>(features_of({&blank, 1}).size(1));
  }

  [[nodiscard]] std::size_t dim() const override { return dim_; }
  [[nodiscard]] const PixelScale& pixels() const override { return pixels_; }
  [[nodiscard]] std::size_t input_size() const override { return input_size_; }
  [[nodiscard]] std::size_t smallest_input() const override { return 1; }

  [[nodiscard]] std::unique_ptr<PendingFeatures> begin(std::span<const Bitmap> pictures) override {
    return lanes_.begin(pictures.size(), [&] { return features_of(pictures); });
  }

 private:
  Tensor features_of(std::span<const Bitmap> pictures) {
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
      return features;
    } catch (const c10::Error& error) {
      throw data_error(fmt::format("{}: fails on pictures of {} pixels: {}; try another `size`",
                                   where_, pictures.front().width, first_line(error.what())));
    } catch (const std::runtime_error& error) {  // raised inside the module
      if (dynamic_cast<const Error*>(&error) != nullptr) throw;
      throw data_error(fmt::format("{}: fails on pictures of {} pixels; try another `size`", where_,
                                   pictures.front().width));
    }
  }
  static std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

  std::string where_;
  Feeder feed_;
  Lanes lanes_;
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
