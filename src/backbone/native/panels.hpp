#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/matrix.hpp"
#include "kernels/network_kernels.hpp"

namespace deepvoro::native {

// Weights of a convolution as a file has them, with what they and its results are changed by.
struct Weights {
  std::shared_ptr<const void> memory;  // that the values lie in
  std::span<const float> values;       // [out, in, kernel, kernel]
  std::vector<double> factors;         // of the results
  std::vector<float> bias;             // added to them then
  std::size_t in = 0;
  std::size_t out = 0;
  std::size_t kernel = 1;
  float slope = 1;  // of what is below 0 then
};

// Weights in the order in which they are used. Writing all of them to memory takes longer than
// using them for few places: the first such uses make each panel in scratch memory and forget it.
// Any number of threads may ask at the same time.
class Panels {
 public:
  using Pack = void (*)(const kernels::PanelWeights& weights, float* panel);

  Panels(const Weights& weights, std::size_t panel_size, Pack pack);

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t panel_size() const { return panel_size_; }

  // Those that are kept, made now where there are none yet; nullptr: to be made for one use, which
  // is also the case while another thread makes those to be kept.
  [[nodiscard]] const float* kept(bool few_places, unsigned threads) const;

  void make(std::size_t panel, float* to) const;

 private:
  const Weights& weights_;
  std::size_t count_;
  std::size_t panel_size_;
  Pack pack_;
  mutable std::atomic<unsigned> uses_ = 0;
  mutable std::mutex making_;
  mutable Matrix<float> kept_;  // [panels x panel_size]
  mutable std::atomic<const float*> ready_ = nullptr;
};

}  // namespace deepvoro::native
