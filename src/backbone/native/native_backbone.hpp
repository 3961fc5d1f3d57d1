#pragma once

#include <filesystem>
#include <memory>

#include "deepvoro/backbone/backbone.hpp"

namespace deepvoro {

// A model file of ours on the CPU. Needs no other library.
[[nodiscard]] std::unique_ptr<Backbone> open_native(const std::filesystem::path& model,
                                                    unsigned threads);

}  // namespace deepvoro
