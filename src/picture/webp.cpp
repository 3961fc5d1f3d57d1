#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>

#include "formats.hpp"

namespace deepvoro {
namespace {

struct WebpDeleter {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};

// EXIF data lie in a chunk of their own.
int webp_orientation(const WebPData& file) {
  const std::unique_ptr<WebPDemuxer, WebpDeleter> demuxer(WebPDemux(&file));
  WebPChunkIterator chunk{};
  if (!demuxer || WebPDemuxGetChunk(demuxer.get(), "EXIF", 1, &chunk) == 0) return 1;
  const int orientation =
      exif_orientation({reinterpret_cast<const std::byte*>(chunk.chunk.bytes), chunk.chunk.size});
  WebPDemuxReleaseChunkIterator(&chunk);
  return orientation;
}

}  // namespace

StoredBitmap decode_webp(std::span<const std::byte> file, const std::string& name,
                         const PictureLimits& limits) {
  const WebPData data{reinterpret_cast<const std::uint8_t*>(file.data()), file.size()};
  WebPBitstreamFeatures features{};
  const VP8StatusCode status = WebPGetFeatures(data.bytes, data.size, &features);
  if (status == VP8_STATUS_NOT_ENOUGH_DATA) throw_truncated(name, "WebP");
  if (status != VP8_STATUS_OK) throw_damaged(name, "WebP", "its header cannot be parsed");
  const auto width = static_cast<std::size_t>(features.width);
  const auto height = static_cast<std::size_t>(features.height);
  check_limits(width, height, name, limits);

  if (features.has_animation == 0 && features.has_alpha == 0) {
    StoredBitmap result{{width, height, std::vector<std::uint8_t>(width * height * kChannels)},
                        webp_orientation(data)};
    std::vector<std::uint8_t>& pixels = result.bitmap.pixels;
    if (WebPDecodeRGBInto(data.bytes, data.size, pixels.data(), pixels.size(),
                          features.width * static_cast<int>(kChannels)) == nullptr)
      throw_damaged(name, "WebP", "its pixels cannot be decoded");
    return result;
  }
  // The first frame on its canvas.
  WebPAnimDecoderOptions options{};
  WebPAnimDecoderOptionsInit(&options);
  options.color_mode = MODE_RGBA;
  const std::unique_ptr<WebPAnimDecoder, WebpDeleter> decoder(WebPAnimDecoderNew(&data, &options));
  std::uint8_t* rgba = nullptr;
  int time = 0;
  if (!decoder || WebPAnimDecoderGetNext(decoder.get(), &rgba, &time) == 0)
    throw_damaged(name, "WebP", "its pixels cannot be decoded");
  return {over_white({rgba, width * height * kAlphaChannels}, width, height),
          webp_orientation(data)};
}

}  // namespace deepvoro
