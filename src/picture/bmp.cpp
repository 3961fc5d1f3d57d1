#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "formats.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kFileHeaderBytes = 14;
constexpr std::size_t kOldHeaderBytes = 12;  // of OS/2 1: sizes are 2 bytes, colours 3
constexpr std::size_t kHeaderBytes = 40;
constexpr std::array<std::uint32_t, 7> kBmpHeaders{
    kOldHeaderBytes, kHeaderBytes, 52, 56, 64, 108, 124};
constexpr std::uint32_t kUncompressed = 0;
constexpr std::uint32_t kWithMasks = 3;
constexpr std::uint32_t kWithMasksAndAlpha = 6;

class BmpBytes {
 public:
  BmpBytes(std::span<const std::byte> bytes, const std::string& name)
      : bytes_(bytes), name_(name) {}

  [[nodiscard]] std::uint32_t number(std::size_t at, std::size_t count) const {
    const std::span<const std::byte> part = some(at, count);
    std::uint32_t value = 0;
    for (std::size_t i = count; i-- > 0;)
      value = value << 8U | std::to_integer<std::uint32_t>(part[i]);
    return value;
  }
  [[nodiscard]] std::span<const std::byte> some(std::size_t at, std::size_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) throw_truncated(name_, "BMP");
    return bytes_.subspan(at, count);
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& name_;
};

// Where in a pixel of 16 or 32 bits a colour is.
class BmpMask {
 public:
  BmpMask() = default;
  explicit BmpMask(std::uint32_t bits) : bits_(bits) {}

  [[nodiscard]] bool is_empty() const { return bits_ == 0; }
  [[nodiscard]] std::uint8_t of(std::uint32_t pixel) const {
    if (bits_ == 0) return 0;
    const std::uint64_t most = bits_ >> std::countr_zero(bits_);
    const std::uint64_t value = (pixel & bits_) >> std::countr_zero(bits_);
    return static_cast<std::uint8_t>(value * 255 / most);
  }

 private:
  std::uint32_t bits_ = 0;
};

using BmpColour = std::array<std::uint8_t, kChannels>;

// Pixels without compression, at 1 to 32 bits. Few programs write any other.
class BmpReader {
 public:
  BmpReader(std::span<const std::byte> file, const std::string& name)
      : bytes_(file, name), name_(name), header_(bytes_.number(kFileHeaderBytes, 4)) {
    if (std::ranges::count(kBmpHeaders, header_) == 0) fail("its header has an unknown length");
    const bool old = header_ == kOldHeaderBytes;
    const std::size_t at = kFileHeaderBytes + 4;
    width_ = signed_number(at, old ? 2 : 4);
    height_ = signed_number(at + (old ? 2 : 4), old ? 2 : 4);
    bits_ = bytes_.number(at + (old ? 6 : 10), 2);
    if (!old) compression_ = bytes_.number(at + 12, 4);
    if (width_ < 0) fail("its width is negative");
    constexpr std::array<std::uint32_t, 6> known{1, 4, 8, 16, 24, 32};
    if (std::ranges::count(known, bits_) == 0) fail("its pixels have an unknown number of bits");
    const bool has_masks = compression_ == kWithMasks || compression_ == kWithMasksAndAlpha;
    if (compression_ != kUncompressed && !(has_masks && bits_ >= 16))
      fail("it is compressed; save it again without");
    if (bits_ == 16 || bits_ == 32) read_masks(has_masks);
  }

  Bitmap decoded(const PictureLimits& limits) {
    const auto width = static_cast<std::size_t>(width_);
    const auto height = static_cast<std::size_t>(height_ < 0 ? -height_ : height_);
    check_limits(width, height, name_, limits);
    if (bits_ <= 8) read_colours();
    const std::size_t stride = (width * bits_ + 31) / 32 * 4;
    const std::span<const std::byte> rows = bytes_.some(bytes_.number(10, 4), stride * height);
    Bitmap bitmap{width, height, std::vector<std::uint8_t>(width * height * kChannels)};
    std::uint8_t* to = bitmap.pixels.data();
    for (std::size_t y = 0; y < height; ++y) {
      const std::size_t stored = height_ < 0 ? y : height - 1 - y;  // from the bottom, as a rule
      const std::span<const std::byte> row = rows.subspan(stored * stride, stride);
      if (bits_ == 24)
        copy_row(row, width, to);
      else
        for (std::size_t x = 0; x < width; ++x)
          std::ranges::copy(colour_at(row, x), to + x * kChannels);
      to += width * kChannels;
    }
    return bitmap;
  }

 private:
  [[nodiscard]] std::int64_t signed_number(std::size_t at, std::size_t count) const {
    const std::uint32_t value = bytes_.number(at, count);
    return count == 2 ? static_cast<std::int64_t>(value) : static_cast<std::int32_t>(value);
  }

  void read_masks(bool given) {
    if (given) {
      const std::size_t at =
          kFileHeaderBytes + kHeaderBytes;  // in a longer header or after this one
      for (std::size_t c = 0; c < kChannels; ++c) masks_[c] = BmpMask(bytes_.number(at + 4 * c, 4));
      if (header_ >= 56) alpha_ = BmpMask(bytes_.number(at + 12, 4));
    } else if (bits_ == 16) {
      masks_ = {BmpMask(0x7C00), BmpMask(0x03E0), BmpMask(0x001F)};
    } else {
      masks_ = {BmpMask(0xFF0000), BmpMask(0x00FF00), BmpMask(0x0000FF)};
    }
  }

  void read_colours() {
    const bool old = header_ == kOldHeaderBytes;
    const std::size_t most = std::size_t{1} << bits_;
    std::size_t count = old ? 0 : bytes_.number(kFileHeaderBytes + 32, 4);
    if (count == 0 || count > most) count = most;
    const std::size_t each = old ? 3 : 4;
    const std::span<const std::byte> stored = bytes_.some(kFileHeaderBytes + header_, count * each);
    colours_.assign(most, BmpColour{});
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t c = 0; c < kChannels; ++c)
        colours_[i][c] = std::to_integer<std::uint8_t>(stored[i * each + kChannels - 1 - c]);
  }

  // Blue, green, red, a byte each: what nearly all files are.
  static void copy_row(std::span<const std::byte> row, std::size_t width, std::uint8_t* to) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(row.data());
    for (std::size_t x = 0; x < width; ++x, from += kChannels, to += kChannels) {
      to[0] = from[2];
      to[1] = from[1];
      to[2] = from[0];
    }
  }

  [[nodiscard]] BmpColour colour_at(std::span<const std::byte> row, std::size_t x) const {
    if (bits_ <= 8) {
      const std::size_t per_byte = 8 / bits_;
      const auto byte = std::to_integer<std::uint32_t>(row[x / per_byte]);
      const std::size_t shift = 8 - bits_ * (x % per_byte + 1);
      return colours_[byte >> shift & ((1U << bits_) - 1)];
    }
    const std::size_t size = bits_ / 8;
    std::uint32_t pixel = 0;
    for (std::size_t i = size; i-- > 0;)
      pixel = pixel << 8U | std::to_integer<std::uint32_t>(row[x * size + i]);
    BmpColour colour{};
    for (std::size_t c = 0; c < kChannels; ++c) {
      colour[c] = masks_[c].of(pixel);
      if (!alpha_.is_empty()) colour[c] = over_white(colour[c], alpha_.of(pixel));
    }
    return colour;
  }

  [[noreturn]] void fail(const char* why) const { throw_damaged(name_, "BMP", why); }

  BmpBytes bytes_;
  const std::string& name_;
  std::uint32_t header_;
  std::int64_t width_ = 0;
  std::int64_t height_ = 0;
  std::uint32_t bits_ = 0;
  std::uint32_t compression_ = kUncompressed;
  std::array<BmpMask, kChannels> masks_{};
  BmpMask alpha_;
  std::vector<BmpColour> colours_;
};

}  // namespace

bool begins_like_bmp(std::span<const std::byte> file) {
  if (file.size() < kFileHeaderBytes + 4 || file[0] != std::byte{'B'} || file[1] != std::byte{'M'})
    return false;
  const auto header = std::to_integer<std::uint32_t>(file[kFileHeaderBytes]);
  return std::ranges::count(kBmpHeaders, header) == 1 && file[kFileHeaderBytes + 1] == std::byte{0};
}

StoredBitmap decode_bmp(std::span<const std::byte> file, const std::string& name,
                        const PictureLimits& limits) {
  return {BmpReader(file, name).decoded(limits), 1};
}

}  // namespace deepvoro
