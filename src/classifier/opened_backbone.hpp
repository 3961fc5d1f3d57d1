#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/classifier/classifier.hpp"

namespace deepvoro {

// A network, which computes on one thread, with what a classifier remembers of it.
struct OpenedBackbone {
  std::filesystem::path file;
  std::string device;  // "cpu" or "cuda"
  std::unique_ptr<Backbone> network;
  FeatureOrigin origin;
};

// By name or file.
[[nodiscard]] OpenedBackbone open_backbone(const std::string& name_or_file,
                                           const std::string& device);

// Name or file of the one that made a classifier's features; `elsewhere` is where it lies now, if
// not empty. One that is missing or has another hash is a data error.
[[nodiscard]] std::string backbone_of(const FeatureOrigin& origin, const std::string& elsewhere);

[[nodiscard]] OpenedBackbone open_backbone_of(const FeatureOrigin& origin,
                                              const std::string& elsewhere,
                                              const std::string& device);

}  // namespace deepvoro
