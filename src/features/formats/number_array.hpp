#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace deepvoro {

enum class NumberType {
  float16,
  bfloat16,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
};

[[nodiscard]] std::size_t number_size(NumberType type);

// Of a NumPy type without its byte order: "f4", "i8", ...
[[nodiscard]] std::optional<NumberType> numpy_number_type(std::string_view kind_and_size);

// An array of numbers as it lies in a file. Non-owning.
struct NumberArray {
  NumberType type = NumberType::float32;
  std::endian order = std::endian::little;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> data;
};

// An array with the memory it lies in: a mapped file, or a buffer that was unpacked into.
struct LoadedArray {
  std::shared_ptr<const void> memory;
  NumberArray array;
};

// Bytes an array of this shape takes, or nothing when they cannot be counted in 64 bits.
[[nodiscard]] std::optional<std::uint64_t> array_bytes(std::span<const std::uint64_t> shape,
                                                       std::size_t item_size);

[[nodiscard]] std::string shape_text(std::span<const std::uint64_t> shape);

// A file that unpacks to far more than it holds is made to harm; deflate reaches 1032 times.
[[nodiscard]] bool plausible_unpacked_size(std::uint64_t unpacked, std::uint64_t packed);

}  // namespace deepvoro
