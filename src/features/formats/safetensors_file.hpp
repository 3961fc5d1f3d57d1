#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "deepvoro/core/files.hpp"
#include "number_array.hpp"

namespace deepvoro {

// Tensors in one file: eight bytes of length, a JSON head of that length, the data.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& file);

  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] bool has(const std::string& name) const { return tensors_.contains(name); }
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] LoadedArray load(const std::string& name) const;

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
};

}  // namespace deepvoro
