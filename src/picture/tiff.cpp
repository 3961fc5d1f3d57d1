#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

#include "formats.hpp"

namespace deepvoro {
namespace {

struct TiffCloser {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

struct TiffMemory {
  std::span<const std::byte> bytes;
  std::size_t place = 0;
  std::array<char, 200> message{};
};

TiffMemory& tiff_memory(thandle_t handle) {
  return *static_cast<TiffMemory*>(handle);
}

tmsize_t read_tiff_bytes(thandle_t handle, void* to, tmsize_t count) {
  TiffMemory& memory = tiff_memory(handle);
  const std::size_t taken = std::min(memory.bytes.size() - memory.place,
                                     static_cast<std::size_t>(std::max<tmsize_t>(count, 0)));
  std::memcpy(to, memory.bytes.data() + memory.place, taken);
  memory.place += taken;
  return static_cast<tmsize_t>(taken);
}

tmsize_t write_no_tiff(thandle_t /*handle*/, void* /*from*/, tmsize_t /*count*/) {
  return 0;
}

toff_t seek_in_tiff(thandle_t handle, toff_t offset, int from) {
  TiffMemory& memory = tiff_memory(handle);
  toff_t place = offset;
  if (from == SEEK_CUR) place += memory.place;
  if (from == SEEK_END) place += memory.bytes.size();
  memory.place = static_cast<std::size_t>(std::min<toff_t>(place, memory.bytes.size()));
  return memory.place;
}

int close_no_tiff(thandle_t /*handle*/) {
  return 0;
}

toff_t size_of_tiff(thandle_t handle) {
  return tiff_memory(handle).bytes.size();
}

int keep_tiff_message(TIFF* /*tiff*/, void* data, const char* /*module*/, const char* format,
                      va_list values) {
  auto& message = static_cast<TiffMemory*>(data)->message;
  if (message.front() == '\0') std::vsnprintf(message.data(), message.size(), format, values);
  return 1;
}

int ignore_tiff_warning(TIFF* /*tiff*/, void* /*data*/, const char* /*module*/,
                        const char* /*format*/, va_list /*values*/) {
  return 1;
}

// What most files are: red, green and blue of a pixel together, a byte each. libtiff reads such
// strips faster than anything that has to be converted.
bool holds_plain_rgb(TIFF* tiff) {
  std::uint16_t bits = 0;
  std::uint16_t samples = 0;
  std::uint16_t planes = 0;
  std::uint16_t colours = 0;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planes);
  TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &colours);
  return bits == 8 && samples == kChannels && planes == PLANARCONFIG_CONTIG &&
         colours == PHOTOMETRIC_RGB && TIFFIsTiled(tiff) == 0;
}

bool read_plain_rgb(TIFF* tiff, std::span<std::uint8_t> pixels) {
  const std::uint32_t strips = TIFFNumberOfStrips(tiff);
  for (std::uint32_t strip = 0; strip < strips && !pixels.empty(); ++strip) {
    const tmsize_t read =
        TIFFReadEncodedStrip(tiff, strip, pixels.data(), static_cast<tmsize_t>(pixels.size()));
    if (read <= 0) return false;
    pixels = pixels.subspan(static_cast<std::size_t>(read));
  }
  return pixels.empty();
}

}  // namespace

StoredBitmap decode_tiff(std::span<const std::byte> file, const std::string& name,
                         const PictureLimits& limits) {
  TiffMemory memory{file};
  const auto fail = [&] {
    throw_damaged(name, "TIFF",
                  memory.message.front() != '\0' ? memory.message.data() : "it cannot be decoded");
  };
  const std::unique_ptr<TIFFOpenOptions, TiffCloser> options(TIFFOpenOptionsAlloc());
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_tiff_message, &memory);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), ignore_tiff_warning, nullptr);
  // A strip may claim any size; no more than all pixels can be needed, at 16 bits and with alpha.
  TIFFOpenOptionsSetMaxSingleMemAlloc(
      options.get(), static_cast<tmsize_t>(limits.most_pixels * 2 * kAlphaChannels));
  // m: nothing is mapped, the bytes are in memory already.
  const std::unique_ptr<TIFF, TiffCloser> tiff(
      TIFFClientOpenExt(name.c_str(), "rm", &memory, read_tiff_bytes, write_no_tiff, seek_in_tiff,
                        close_no_tiff, size_of_tiff, nullptr, nullptr, options.get()));
  if (!tiff) fail();
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint16_t orientation = ORIENTATION_TOPLEFT;
  TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  TIFFGetFieldDefaulted(tiff.get(), TIFFTAG_ORIENTATION, &orientation);
  if (orientation < ORIENTATION_TOPLEFT || orientation > ORIENTATION_LEFTBOT)
    orientation = ORIENTATION_TOPLEFT;
  check_limits(width, height, name, limits);

  if (holds_plain_rgb(tiff.get())) {
    StoredBitmap result{
        {width, height, std::vector<std::uint8_t>(std::size_t{width} * height * kChannels)},
        orientation};
    if (!read_plain_rgb(tiff.get(), result.bitmap.pixels)) fail();
    return result;
  }
  std::vector<std::uint32_t> raster(std::size_t{width} * height);
  // Asked for the orientation that the rows are stored in, libtiff turns nothing.
  constexpr int stop_at_errors = 1;
  if (TIFFReadRGBAImageOriented(tiff.get(), width, height, raster.data(), orientation,
                                stop_at_errors) == 0)
    fail();
  StoredBitmap result{{width, height, std::vector<std::uint8_t>(raster.size() * kChannels)},
                      orientation};
  std::uint8_t* to = result.bitmap.pixels.data();
  for (const std::uint32_t pixel : raster) {
    const std::uint32_t white = 255 - TIFFGetA(pixel);  // colours are multiplied by alpha
    to[0] = static_cast<std::uint8_t>(std::min(255U, TIFFGetR(pixel) + white));
    to[1] = static_cast<std::uint8_t>(std::min(255U, TIFFGetG(pixel) + white));
    to[2] = static_cast<std::uint8_t>(std::min(255U, TIFFGetB(pixel) + white));
    to += kChannels;
  }
  return result;
}

}  // namespace deepvoro
