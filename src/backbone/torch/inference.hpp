#pragma once

#include <c10/util/Exception.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/core/error.hpp"
#include "network.hpp"

namespace deepvoro {

[[nodiscard]] std::unique_ptr<Backbone> open_backbone(const std::filesystem::path& model,
                                                      const ComputeOptions& options);

// A network that goes on being trained, seen as a backbone. Refers to it.
[[nodiscard]] std::unique_ptr<Backbone> as_backbone(const Network& network,
                                                    const ModelDescription& description,
                                                    torch::Device device);

// LibTorch's errors have many lines; the first one tells.
template <class Action>
auto as_our_errors(const Action& action) {
  try {
    return action();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw internal_error("LibTorch: " + text.substr(0, text.find('\n')));
  }
}

}  // namespace deepvoro
