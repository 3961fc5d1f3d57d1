#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "formats.hpp"

namespace deepvoro {
namespace {

constexpr std::uint32_t kOrientationTag = 0x0112;
constexpr std::uint32_t kShort = 3;
constexpr std::uint32_t kLong = 4;  // not what the standard says, but some programs write it
constexpr std::size_t kEntryBytes = 12;

class Tiff {
 public:
  explicit Tiff(std::span<const std::byte> bytes)
      : bytes_(bytes), little_(bytes.size() > 1 && bytes[0] == std::byte{'I'}) {}

  [[nodiscard]] bool holds(std::size_t at, std::size_t count) const {
    return count <= bytes_.size() && at <= bytes_.size() - count;
  }
  // A number of 2 or 4 bytes; 0 beyond the end.
  [[nodiscard]] std::uint32_t number(std::size_t at, std::size_t count) const {
    if (!holds(at, count)) return 0;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i)
      value = value << 8U |
              std::to_integer<std::uint32_t>(bytes_[little_ ? at + count - 1 - i : at + i]);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  bool little_;
};

}  // namespace

int exif_orientation(std::span<const std::byte> bytes) {
  constexpr std::string_view word{"Exif\0\0", 6};
  if (bytes.size() > word.size() && std::memcmp(bytes.data(), word.data(), word.size()) == 0)
    bytes = bytes.subspan(word.size());
  const Tiff tiff(bytes);
  if (tiff.number(2, 2) != 42) return 1;
  const std::size_t directory = tiff.number(4, 4);
  const std::size_t entries = tiff.number(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (!tiff.holds(entry, kEntryBytes)) return 1;
    if (tiff.number(entry, 2) != kOrientationTag) continue;
    const std::uint32_t type = tiff.number(entry + 2, 2);
    if (type != kShort && type != kLong) return 1;
    const std::uint32_t value = tiff.number(entry + 8, type == kShort ? 2 : 4);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace deepvoro
