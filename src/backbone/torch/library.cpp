#include "library.hpp"

#include <malloc.h>

#include <limits>

#include "deepvoro/core/error.hpp"
#include "device.hpp"
#include "ensemble.hpp"
#include "inference.hpp"
#include "trainer.hpp"

namespace deepvoro {
namespace {

// glibc returns large blocks to the system after each use, and the next use pays for fresh pages:
// half the time of a training step.
void keep_freed_memory() {
  constexpr int never = std::numeric_limits<int>::max();
  ::mallopt(M_MMAP_THRESHOLD, never);
  ::mallopt(M_TRIM_THRESHOLD, never);
}

class TorchLibrary final : public BackboneLibrary {
 public:
  [[nodiscard]] std::unique_ptr<Backbone> open(const std::filesystem::path& model,
                                               const ComputeOptions& options) const override {
    return as_our_errors([&] { return open_backbone(model, options); });
  }
  void train(const TrainingSet& set, const TrainingOptions& options,
             const std::filesystem::path& model, TrainingMonitor& monitor) const override {
    as_our_errors([&] { train_network(set, options, model, monitor); });
  }
  [[nodiscard]] std::unique_ptr<EnsembleDevice> ensemble_device(
      const std::string& device) const override {
    return as_our_errors([&] { return make_ensemble_device(device_named(device)); });
  }
};

}  // namespace
}  // namespace deepvoro

extern "C" const deepvoro::BackboneLibrary* deepvoro_backbone_library() {
  static const deepvoro::TorchLibrary library;
  static const bool tuned = (deepvoro::keep_freed_memory(), true);
  return tuned ? &library : nullptr;
}
