#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deepvoro {

// What the header of a .npy file says. Whoever gets one from parse_npy_header may rely on it: the
// data that shape and descr describe lie within the bytes, from data_offset on.
struct NpyHeader {
  std::string descr;  // "<f4", "<f2", "<i8", ...
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::size_t data_offset = 0;

  [[nodiscard]] std::uint64_t elements() const;
};

// Bytes of one element of a NumPy type such as "<f4", "<U7" or "|S7"; 0 for types that are neither
// plain numbers nor texts.
[[nodiscard]] std::size_t npy_item_size(std::string_view descr);

// Reads the header of .npy bytes, version 1 to 3, and checks it against their number. `where` names
// the file in errors.
[[nodiscard]] NpyHeader parse_npy_header(std::span<const std::byte> bytes,
                                         const std::string& where);

// The header of a C-ordered .npy file; the data follow it.
[[nodiscard]] std::string npy_header(std::string_view descr, std::span<const std::uint64_t> shape);

// A whole C-ordered .npy file, which appears under its name when it is complete.
void write_npy(const std::filesystem::path& file, std::string_view descr,
               std::span<const std::uint64_t> shape, std::span<const std::byte> data);

}  // namespace deepvoro
