#pragma once

#include <cstddef>
#include <memory>

#include "panels.hpp"
#include "workspace.hpp"

namespace deepvoro::native {

// A convolution with its normalisation, what is added to it, and its activation. A result does not
// depend on the number of pictures or threads. Any number of threads may run it at the same time.
class Convolution {
 public:
  Convolution(Weights weights, std::size_t stride)
      : weights_(std::move(weights)), stride_(stride) {}
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;
  virtual ~Convolution() = default;

  [[nodiscard]] Shape result_of(const Shape& in) const;

  // `added`, of the shape of the result, may be null.
  virtual void run(const Shape& shape, const float* in, const float* added, float* out,
                   Workspace& work) const = 0;

 protected:
  [[nodiscard]] const Weights& weights() const { return weights_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }

 private:
  Weights weights_;
  std::size_t stride_;
};

// The quickest way for these weights.
[[nodiscard]] std::unique_ptr<Convolution> make_convolution(Weights weights, std::size_t stride);

// One of a channel with itself alone: weights are [channels, 1, kernel, kernel], and channels a
// multiple of 16.
[[nodiscard]] std::unique_ptr<Convolution> make_depthwise(Weights weights, std::size_t stride);

// 3x3 with stride 1 by the algorithm of Winograd (Lavin 2016): 4x4 results from 6x6 places take 36
// products for each pair of channels instead of 144. Rounding errors are some ten times those of
// plain sums.
[[nodiscard]] bool fits_winograd(const Weights& weights, std::size_t stride);
[[nodiscard]] std::unique_ptr<Convolution> make_winograd(Weights weights);

// Work that falls into blocks of places and groups of panels, enough of them for all threads.
class Division {
 public:
  Division(std::size_t places, std::size_t places_in_block, std::size_t panels, unsigned threads);

  struct Part {
    std::size_t first_place, end_place;
    std::size_t first_panel, end_panel;
  };
  [[nodiscard]] std::size_t parts() const { return blocks_ * groups_; }
  [[nodiscard]] Part part(std::size_t number) const;

 private:
  std::size_t places_;
  std::size_t places_in_block_;
  std::size_t panels_;
  std::size_t blocks_;
  std::size_t groups_;
};

}  // namespace deepvoro::native
