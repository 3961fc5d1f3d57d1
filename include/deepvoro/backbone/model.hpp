#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "deepvoro/backbone/architecture.hpp"

namespace deepvoro {

// How bytes of a picture become what a network is fed: (byte / 255 - mean) / deviation, for red,
// green and blue.
struct PixelScale {
  std::array<float, 3> mean{0.485F, 0.456F, 0.406F};
  std::array<float, 3> deviation{0.229F, 0.224F, 0.225F};

  bool operator==(const PixelScale&) const = default;
};

// What a model file says of itself besides its weights.
struct ModelDescription {
  Architecture architecture;
  std::size_t input_size = 84;  // side of the pictures it was trained on
  PixelScale pixels;
  std::string recipe_json = "{}";  // how it was trained
  std::string data_sha256;         // of the pictures it was trained on; empty if unknown
  std::string licence;             // of the weights; empty if unknown
  std::string source;              // where the weights come from; empty if unknown
  std::string trained_on;          // name of the pictures, such as ImageNet; empty if unknown
  bool light_strokes = false;      // it was trained on drawings that are light on a dark ground

  bool operator==(const ModelDescription&) const = default;
};

}  // namespace deepvoro
