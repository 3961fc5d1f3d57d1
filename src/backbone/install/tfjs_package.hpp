#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tfjs_model.hpp"

namespace deepvoro {

// A model of TensorFlow.js with its weights in memory.
struct TfjsPackage {
  std::string where;       // its model.json
  std::string model_json;  // that file
  TfjsModel model;
  std::vector<float> weights;  // all of them, one after another
};

// Reads one from a package as `Package` takes it.
[[nodiscard]] TfjsPackage read_tfjs_package(const std::filesystem::path& from,
                                            const std::string& folder);

}  // namespace deepvoro
