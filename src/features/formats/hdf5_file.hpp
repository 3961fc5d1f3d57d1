#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "number_array.hpp"

namespace deepvoro {

// Datasets of an HDF5 file. Where the file has a dataset `count`, as the features of SimpleShot
// and S2M2 have, rows from there on are padding and left out. Not for use by two threads at once:
// the HDF5 library itself is not.
class Hdf5File {
 public:
  explicit Hdf5File(const std::filesystem::path& file);
  ~Hdf5File();
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] LoadedArray load(const std::string& name) const;

 private:
  class Handle;
  struct MemoryType;
  static MemoryType memory_type(const Handle& dataset, const std::string& where);
  void check_size(const Handle& dataset, const std::vector<std::uint64_t>& wanted,
                  std::size_t item_size, const std::string& where) const;
  [[nodiscard]] std::optional<std::uint64_t> read_count() const;

  std::string where_;
  std::uint64_t file_bytes_ = 0;
  std::unique_ptr<Handle> file_;
  std::optional<std::uint64_t> valid_rows_;
};

}  // namespace deepvoro
