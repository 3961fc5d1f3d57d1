#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "formats.hpp"

namespace deepvoro {
namespace {

constexpr int kNoTransparentIndex = 256;  // no index of a colour

struct UnreadGif {
  std::span<const std::byte> bytes;
  bool ended = false;
};

int read_gif_bytes(GifFileType* gif, GifByteType* to, int count) {
  auto& rest = *static_cast<UnreadGif*>(gif->UserData);
  const std::size_t taken = std::min(rest.bytes.size(), static_cast<std::size_t>(count));
  std::memcpy(to, rest.bytes.data(), taken);
  rest.bytes = rest.bytes.subspan(taken);
  rest.ended = rest.ended || taken < static_cast<std::size_t>(count);
  return static_cast<int>(taken);
}

struct GifCloser {
  void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
};

class GifReader {
 public:
  GifReader(std::span<const std::byte> file, const std::string& name) : name_(name), rest_{file} {
    int error = 0;
    gif_.reset(DGifOpen(&rest_, read_gif_bytes, &error));
    if (!gif_) fail(error);
  }

  // The first frame on a white canvas.
  Bitmap first_frame(const PictureLimits& limits) {
    int transparent = kNoTransparentIndex;
    for (;;) {
      GifRecordType kind{};
      attempt(DGifGetRecordType(gif_.get(), &kind));
      if (kind == EXTENSION_RECORD_TYPE) {
        read_extension(transparent);
      } else if (kind == IMAGE_DESC_RECORD_TYPE) {
        return read_frame(transparent, limits);
      } else if (kind == TERMINATE_RECORD_TYPE) {
        throw_damaged(name_, "GIF", "it holds no picture");
      }
    }
  }

 private:
  void read_extension(int& transparent) {
    int code = 0;
    GifByteType* block = nullptr;
    attempt(DGifGetExtension(gif_.get(), &code, &block));
    while (block != nullptr) {
      GraphicsControlBlock control{};
      if (code == GRAPHICS_EXT_FUNC_CODE &&
          DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
        transparent = control.TransparentColor == NO_TRANSPARENT_COLOR ? kNoTransparentIndex
                                                                       : control.TransparentColor;
      attempt(DGifGetExtensionNext(gif_.get(), &block));
    }
  }

  Bitmap read_frame(int transparent, const PictureLimits& limits) {
    attempt(DGifGetImageDesc(gif_.get()));
    const GifImageDesc& frame = gif_->Image;
    const auto left = static_cast<std::size_t>(frame.Left);
    const auto top = static_cast<std::size_t>(frame.Top);
    const auto columns = static_cast<std::size_t>(frame.Width);
    const auto rows = static_cast<std::size_t>(frame.Height);
    // Some frames are larger than the screen that the header speaks of.
    const std::size_t width = std::max(static_cast<std::size_t>(gif_->SWidth), left + columns);
    const std::size_t height = std::max(static_cast<std::size_t>(gif_->SHeight), top + rows);
    check_limits(width, height, name_, limits);
    const ColorMapObject* colours = frame.ColorMap != nullptr ? frame.ColorMap : gif_->SColorMap;
    if (colours == nullptr) throw_damaged(name_, "GIF", "it has no colours");

    Bitmap bitmap{width, height, std::vector<std::uint8_t>(width * height * kChannels, 0xFF)};
    std::vector<GifPixelType> line(columns);
    for (const std::size_t y : order_of(rows, frame.Interlace)) {
      attempt(DGifGetLine(gif_.get(), line.data(), frame.Width));
      std::uint8_t* to = bitmap.pixels.data() + ((top + y) * width + left) * kChannels;
      for (const GifPixelType index : line) {
        if (index != transparent) {
          const GifColorType colour =
              index < colours->ColorCount ? colours->Colors[index] : GifColorType{};
          to[0] = colour.Red;
          to[1] = colour.Green;
          to[2] = colour.Blue;
        }
        to += kChannels;
      }
    }
    return bitmap;
  }

  static std::vector<std::size_t> order_of(std::size_t rows, bool interlaced) {
    struct Pass {
      std::size_t begin, step;
    };
    constexpr std::array<Pass, 4> passes{{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
    std::vector<std::size_t> order;
    order.reserve(rows);
    if (!interlaced)
      for (std::size_t y = 0; y < rows; ++y) order.push_back(y);
    else
      for (const Pass& pass : passes)
        for (std::size_t y = pass.begin; y < rows; y += pass.step) order.push_back(y);
    return order;
  }

  void attempt(int status) {
    if (status != GIF_OK) fail(gif_->Error);
  }

  [[noreturn]] void fail(int error) const {
    if (rest_.ended) throw_truncated(name_, "GIF");
    const char* why = GifErrorString(error);
    throw_damaged(name_, "GIF", why != nullptr ? why : "unknown");
  }

  const std::string& name_;
  UnreadGif rest_;
  std::unique_ptr<GifFileType, GifCloser> gif_;
};

}  // namespace

StoredBitmap decode_gif(std::span<const std::byte> file, const std::string& name,
                        const PictureLimits& limits) {
  return {GifReader(file, name).first_frame(limits), 1};
}

}  // namespace deepvoro
