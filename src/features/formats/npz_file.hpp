#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

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

 private:
  struct Close {
    void operator()(zip* archive) const;
  };

  std::string where_;
  std::uint64_t file_bytes_ = 0;
  std::unique_ptr<zip, Close> archive_;
};

}  // namespace deepvoro
