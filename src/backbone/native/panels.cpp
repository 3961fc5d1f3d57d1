#include "panels.hpp"

#include <algorithm>

#include "deepvoro/core/parallel.hpp"

namespace deepvoro::native {

using kernels::kPanelChannels;

// About when it would have been as quick to keep them at once.
constexpr unsigned kUsesBeforeKeeping = 8;

Panels::Panels(const Weights& weights, std::size_t panel_size, Pack pack)
    : weights_(weights),
      count_((weights.out + kPanelChannels - 1) / kPanelChannels),
      panel_size_(panel_size),
      pack_(pack) {}

const float* Panels::kept(bool few_places, unsigned threads) const {
  if (const float* ready = ready_) return ready;
  if (few_places && uses_++ < kUsesBeforeKeeping) return nullptr;
  const std::unique_lock lock(making_, std::try_to_lock);
  if (!lock) return nullptr;
  if (ready_ != nullptr) return ready_;
  kept_ = Matrix<float>(1, count_ * panel_size_);
  parallel_for(threads, count_, 1, [&](std::size_t panel, std::size_t, unsigned) {
    make(panel, kept_.row(0) + panel * panel_size_);
  });
  return ready_ = kept_.row(0);
}

void Panels::make(std::size_t panel, float* to) const {
  const std::size_t first = panel * kPanelChannels;
  const std::size_t places = weights_.kernel * weights_.kernel;
  pack_({.weights = weights_.values.data() + first * weights_.in * places,
         .in = weights_.in,
         .places = places,
         .channels = std::min(kPanelChannels, weights_.out - first),
         .factors = weights_.factors.data() + first},
        to);
}

}  // namespace deepvoro::native
