#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "deepvoro/backbone/model.hpp"
#include "deepvoro/core/export.hpp"
#include "deepvoro/picture/bitmap.hpp"

namespace deepvoro {

struct ComputeOptions {
  unsigned threads = 1;
  std::string device = "cpu";    // or "cuda"
  std::size_t input_size = 224;  // of a TorchScript module, which does not say
};

// Features that a device may still be working on.
class DEEPVORO_API PendingFeatures {
 public:
  virtual ~PendingFeatures() = default;

  // Waits for them. Once.
  virtual void copy_to(std::span<float> out) = 0;
};

// A network that is ready to see pictures. One thread at a time.
class DEEPVORO_API Backbone {
 public:
  virtual ~Backbone() = default;

  [[nodiscard]] virtual std::size_t dim() const = 0;
  [[nodiscard]] virtual const PixelScale& pixels() const = 0;
  [[nodiscard]] virtual std::size_t input_size() const = 0;  // that it was trained on
  [[nodiscard]] virtual std::size_t smallest_input() const = 0;
  // Whether it knows drawings as light strokes on a dark ground. What embeds pictures for it turns
  // ink on paper into that first (docs/METHODS.md).
  [[nodiscard]] virtual bool light_strokes() const { return false; }

  // Features of one or more square pictures of one size, [pictures x dim]. They depend on the other
  // pictures of the batch by rounding at most; those of our own networks on the CPU not at all.
  void embed(std::span<const Bitmap> pictures, std::span<float> out) {
    begin(pictures)->copy_to(out);
  }

  // The same in two parts: a device goes on to the next pictures while the features of the last
  // ones are waited for. What is pending must be gone before the backbone is.
  [[nodiscard]] virtual std::unique_ptr<PendingFeatures> begin(
      std::span<const Bitmap> pictures) = 0;

  // The same network once more, with the same weights in memory; nullptr where it has to be opened
  // once more.
  [[nodiscard]] virtual std::unique_ptr<Backbone> for_another_thread() const { return nullptr; }
};

class EnsembleDevice;
struct TrainingSet;
struct TrainingOptions;
class TrainingMonitor;

// What libdeepvoro_backbone.so can do, the library that needs LibTorch.
class DEEPVORO_API BackboneLibrary {
 public:
  virtual ~BackboneLibrary() = default;

  // A model file of ours, for CUDA, or a TorchScript module (.ts, .pt, .pth), which is fed pixels
  // scaled as usual.
  [[nodiscard]] virtual std::unique_ptr<Backbone> open(const std::filesystem::path& model,
                                                       const ComputeOptions& options) const = 0;

  // Trains a network and writes it to `model`: the best by validation, or the last where there is
  // none. After an epoch, but not too often, all that the rest depends on is kept in
  // `<model>.partial`; the same training goes on from there. See deepvoro/backbone/training.hpp.
  virtual void train(const TrainingSet& set, const TrainingOptions& options,
                     const std::filesystem::path& model, TrainingMonitor& monitor) const = 0;

  // Adds up ensembles on "cpu" or "cuda".
  [[nodiscard]] virtual std::unique_ptr<EnsembleDevice> ensemble_device(
      const std::string& device) const = 0;
};

// Loads the library at the first call. A data error says how to get it where it is missing.
[[nodiscard]] DEEPVORO_API const BackboneLibrary& backbone_library();

// Opens a model file: one of ours on the CPU by itself, an ONNX model by onnxruntime
// (deepvoro/backbone/onnx.hpp), any other by the library above.
[[nodiscard]] DEEPVORO_API std::unique_ptr<Backbone> open_network(
    const std::filesystem::path& model, const ComputeOptions& options = {});

// Whether a file is taken for a TorchScript module, by its ending.
[[nodiscard]] DEEPVORO_API bool is_torchscript(const std::filesystem::path& model);

}  // namespace deepvoro
