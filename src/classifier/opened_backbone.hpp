#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/classifier/classifier.hpp"

namespace deepvoro {

// A network with what a classifier remembers of it.
struct OpenedBackbone {
  std::filesystem::path file;
  std::string device;  // "cpu" or "cuda"
  std::unique_ptr<Backbone> network;
  FeatureOrigin origin;
};

// By name or file. Where several pictures are seen at the same time, a network computes on the
// thread of its picture; a picture alone has as many as `threads`, if the network is one of ours.
[[nodiscard]] OpenedBackbone open_backbone(const std::string& name_or_file,
                                           const std::string& device, unsigned threads = 1);

// Name or file of the one that made a classifier's features; `elsewhere` is where it lies now, if
// not empty. One that is missing or has another hash is a data error.
[[nodiscard]] std::string backbone_of(const FeatureOrigin& origin, const std::string& elsewhere);

[[nodiscard]] OpenedBackbone open_backbone_of(const FeatureOrigin& origin,
                                              const std::string& elsewhere,
                                              const std::string& device, unsigned threads);

}  // namespace deepvoro
