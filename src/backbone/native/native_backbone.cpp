#include "native_backbone.hpp"

#include <utility>
#include <vector>

#include "backbone/ready_features.hpp"
#include "network.hpp"

namespace deepvoro {
namespace {

class NativeBackbone final : public Backbone {
 public:
  NativeBackbone(std::shared_ptr<const native::Network> network, ModelDescription description,
                 unsigned threads)
      : network_(std::move(network)), description_(std::move(description)), work_(threads) {}

  [[nodiscard]] std::size_t dim() const override { return network_->dim(); }
  [[nodiscard]] const PixelScale& pixels() const override { return description_.pixels; }
  [[nodiscard]] std::size_t input_size() const override { return description_.input_size; }
  [[nodiscard]] std::size_t smallest_input() const override {
    return deepvoro::smallest_input(description_.architecture);
  }
  [[nodiscard]] bool light_strokes() const override { return description_.light_strokes; }

  [[nodiscard]] std::unique_ptr<PendingFeatures> begin(std::span<const Bitmap> pictures) override {
    std::vector<float> features(pictures.size() * dim());
    network_->run(pictures, work_, features);
    return std::make_unique<ReadyFeatures>(std::move(features));
  }

  [[nodiscard]] std::unique_ptr<Backbone> for_another_thread() const override {
    return std::make_unique<NativeBackbone>(network_, description_, work_.threads);
  }

 private:
  std::shared_ptr<const native::Network> network_;
  ModelDescription description_;
  native::Workspace work_;
};

}  // namespace

std::unique_ptr<Backbone> open_native(const std::filesystem::path& model, unsigned threads) {
  const ModelFile file(model);
  return std::make_unique<NativeBackbone>(std::make_shared<const native::Network>(file, threads),
                                          file.description(), threads);
}

}  // namespace deepvoro
