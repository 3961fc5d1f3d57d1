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
// and S2M2 have, rows from there on are padding and left out. The HDF5 library is not made for
// files that are meant to harm, nor for two threads at once: Hdf5File has this done by another
// process.
class Hdf5Reader {
 public:
  // Loads the HDF5 library; without this, the first reader does.
  static void load_library();

  explicit Hdf5Reader(const std::filesystem::path& file);
  ~Hdf5Reader();
  Hdf5Reader(const Hdf5Reader&) = delete;
  Hdf5Reader& operator=(const Hdf5Reader&) = delete;

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
