#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "number_array.hpp"

struct zip;

namespace deepvoro {

// A zip archive of .npy files, as numpy.savez and numpy.savez_compressed write it.
class NpzFile {
 public:
  explicit NpzFile(const std::filesystem::path& file);

  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] LoadedArray load(const std::string& name) const;
  // Nothing where the array is one of numbers.
  [[nodiscard]] std::optional<std::vector<std::string>> texts(const std::string& name) const;

 private:
  struct Unpacked {
    std::shared_ptr<const std::byte[]> memory;
    std::span<const std::byte> bytes;
    std::string where;
  };
  [[nodiscard]] Unpacked unpack(const std::string& name) const;

  struct Close {
    void operator()(zip* archive) const;
  };

  std::string where_;
  MappedFile file_;
  std::unique_ptr<zip, Close> archive_;
};

}  // namespace deepvoro
