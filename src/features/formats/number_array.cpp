#include "number_array.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <limits>
#include <utility>

namespace deepvoro {

std::size_t number_size(NumberType type) {
  switch (type) {
    case NumberType::int8:
    case NumberType::uint8:
      return 1;
    case NumberType::float16:
    case NumberType::bfloat16:
    case NumberType::int16:
    case NumberType::uint16:
      return 2;
    case NumberType::float32:
    case NumberType::int32:
    case NumberType::uint32:
      return 4;
    case NumberType::float64:
    case NumberType::int64:
    case NumberType::uint64:
      break;
  }
  return 8;
}

std::optional<NumberType> numpy_number_type(std::string_view kind_and_size) {
  using Name = std::pair<std::string_view, NumberType>;
  static constexpr std::array<Name, 11> names{{{"f2", NumberType::float16},
                                               {"f4", NumberType::float32},
                                               {"f8", NumberType::float64},
                                               {"i1", NumberType::int8},
                                               {"i2", NumberType::int16},
                                               {"i4", NumberType::int32},
                                               {"i8", NumberType::int64},
                                               {"u1", NumberType::uint8},
                                               {"u2", NumberType::uint16},
                                               {"u4", NumberType::uint32},
                                               {"u8", NumberType::uint64}}};
  for (const auto& [name, type] : names)
    if (name == kind_and_size) return type;
  return std::nullopt;
}

std::optional<std::uint64_t> array_bytes(std::span<const std::uint64_t> shape,
                                         std::size_t item_size) {
  std::uint64_t bytes = item_size;
  for (const std::uint64_t size : shape) {
    if (size != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / size) return std::nullopt;
    bytes *= size;
  }
  return bytes;
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

bool plausible_unpacked_size(std::uint64_t unpacked, std::uint64_t packed) {
  constexpr std::uint64_t largest = std::uint64_t{64} << 30U;
  constexpr std::uint64_t largest_ratio = 1100;
  return unpacked <= largest && unpacked / largest_ratio <= packed;
}

}  // namespace deepvoro
