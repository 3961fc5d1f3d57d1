#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "number_array.hpp"

namespace deepvoro {

// Tensors in one file: eight bytes of length, a JSON header of that length, the data.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& file);

  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] bool has(const std::string& name) const { return tensors_.contains(name); }
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] LoadedArray load(const std::string& name) const;
  // Of all tensors.
  [[nodiscard]] std::span<const std::byte> data() const { return data_; }
  // Texts the writer added; empty when there are none.
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  struct Tensor {
    std::string type;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  std::string where_;
  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> data_;
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

// A tensor to be written. Non-owning.
struct FloatTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::span<const float> values;
};

// Writes tensors as float32 or float16. A value that the type cannot hold is a data error.
void write_safetensors(const std::filesystem::path& file,
                       const std::map<std::string, std::string>& metadata,
                       const std::vector<FloatTensor>& tensors, NumberType type);

}  // namespace deepvoro
