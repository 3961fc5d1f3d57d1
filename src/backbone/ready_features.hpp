#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "deepvoro/backbone/backbone.hpp"

namespace deepvoro {

// Features that need no waiting.
class ReadyFeatures final : public PendingFeatures {
 public:
  explicit ReadyFeatures(std::vector<float> values) : values_(std::move(values)) {}

  void copy_to(std::span<float> out) override { std::ranges::copy(values_, out.begin()); }

 private:
  std::vector<float> values_;
};

}  // namespace deepvoro
