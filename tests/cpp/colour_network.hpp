#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "deepvoro/backbone/backbone.hpp"

namespace deepvoro::test {

// A network whose features can be told from a picture: the mean of each colour, and of the upper
// half.
class ColourNetwork final : public Backbone {
 public:
  [[nodiscard]] std::size_t dim() const override { return 4; }
  [[nodiscard]] const PixelScale& pixels() const override { return pixels_; }
  [[nodiscard]] std::size_t input_size() const override { return 16; }
  [[nodiscard]] std::size_t smallest_input() const override { return 8; }

  [[nodiscard]] std::unique_ptr<PendingFeatures> begin(std::span<const Bitmap> pictures) override {
    std::vector<float> rows;
    for (const Bitmap& picture : pictures)
      for (const float value : features_of(picture)) rows.push_back(value);
    return std::make_unique<Pending>(rows);
  }

  static std::vector<float> features_of(const Bitmap& picture) {
    std::vector<double> sums(4);
    const std::size_t size = picture.pixels.size();
    for (std::size_t i = 0; i < size; ++i) {
      sums[i % 3] += picture.pixels[i];
      if (2 * i < size) sums[3] += picture.pixels[i];
    }
    std::vector<float> means;
    for (const double sum : sums)
      means.push_back(static_cast<float>(sum / static_cast<double>(size)));
    return means;
  }

 private:
  class Pending final : public PendingFeatures {
   public:
    explicit Pending(std::vector<float> rows) : rows_(std::move(rows)) {}
    void copy_to(std::span<float> out) override { std::ranges::copy(rows_, out.begin()); }

   private:
    std::vector<float> rows_;
  };

  PixelScale pixels_;
};

}  // namespace deepvoro::test
