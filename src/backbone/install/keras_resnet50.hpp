#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tfjs_package.hpp"

namespace deepvoro {

struct OwnedTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::vector<float> values;
};

// The ResNet-50 of Keras (first version, channels blue, green, red) as tensors of the network
// resnet50: the first convolution takes red first, biases of convolutions go into the means of the
// normalisations after them, and variances make up for another epsilon.
[[nodiscard]] std::vector<OwnedTensor> keras_resnet50_tensors(const TfjsPackage& package);

// Writes them as a model file. `source` is where the package comes from.
void write_keras_resnet50(const TfjsPackage& package, const std::string& source,
                          const std::filesystem::path& file);

}  // namespace deepvoro
