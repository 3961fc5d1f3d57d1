#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/backbone/model.hpp"
#include "deepvoro/core/export.hpp"

namespace deepvoro {

// What an ONNX file does not say of itself; it stands in `<name>.about.json` beside it.
struct OnnxOptions {
  std::optional<std::size_t> input_size = {};  // none: that of the file, or 224
  PixelScale pixels = {};
  // Which of the outputs are the features; empty: the only one, or one of the usual names. Of
  // tokens [pictures, tokens, features] the first is taken, of maps [pictures, features, height,
  // width] the mean.
  std::string output = {};
  std::size_t features = 0;  // as was found when it was added; 0 where it was not
  std::string licence = {};
  std::string source = {};
  std::string trained_on = {};
};

// Whether a file is taken for an ONNX model, by its ending.
[[nodiscard]] DEEPVORO_API bool is_onnx(const std::filesystem::path& model);

// The options beside a file, or the usual ones.
[[nodiscard]] DEEPVORO_API OnnxOptions onnx_options_of(const std::filesystem::path& model);

// Needs onnxruntime, which is loaded then: DEEPVORO_ONNXRUNTIME, or the installed one, or that of
// the system. A network that cannot be run is a data error.
[[nodiscard]] DEEPVORO_API std::unique_ptr<Backbone> open_onnx(const std::filesystem::path& model,
                                                               const OnnxOptions& options,
                                                               const ComputeOptions& compute = {});

// Makes an ONNX model a backbone that is referred to by name: tries it, and copies it among the
// user's with its options. Says how many features it has.
DEEPVORO_API std::size_t add_onnx(const std::string& name, const std::filesystem::path& model,
                                  const OnnxOptions& options);

}  // namespace deepvoro
