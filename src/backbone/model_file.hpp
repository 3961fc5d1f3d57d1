#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "deepvoro/backbone/model.hpp"
#include "features/formats/safetensors_file.hpp"

namespace deepvoro {

[[nodiscard]] std::string description_json(const ModelDescription& description);
[[nodiscard]] ModelDescription parse_description(const std::string& text, const std::string& where);

struct TensorValues {
  std::shared_ptr<const void> memory;
  std::span<const float> values;
};

// A model on disk: a .safetensors file whose metadata hold the description under "deepvoro".
// Reading maps the file; nothing is allocated before its sizes were checked.
class ModelFile {
 public:
  explicit ModelFile(const std::filesystem::path& file);

  [[nodiscard]] const ModelDescription& description() const { return description_; }
  [[nodiscard]] const SafetensorsFile& tensors() const { return tensors_; }

  // The values of one tensor, which must have this shape.
  [[nodiscard]] std::vector<float> values(const std::string& name,
                                          std::span<const std::int64_t> shape) const;

  // The same, in the mapped file itself where it holds them as float32.
  [[nodiscard]] TensorValues mapped_values(const std::string& name,
                                           std::span<const std::int64_t> shape) const;

 private:
  [[nodiscard]] LoadedArray loaded(const std::string& name,
                                   std::span<const std::int64_t> shape) const;

  SafetensorsFile tensors_;
  ModelDescription description_;
};

enum class WeightType { float16, float32 };

// Tensors of float32, written as that or rounded to float16. `metadata` is added to the
// description.
void write_model_file(const std::filesystem::path& file, const ModelDescription& description,
                      const std::vector<FloatTensor>& tensors, WeightType type,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace deepvoro
