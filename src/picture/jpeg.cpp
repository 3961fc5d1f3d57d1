#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

// jpeglib.h needs what <cstdio> declares, and jerror.h what jpeglib.h does.
#include <jpeglib.h>

#include <jerror.h>

#include <fmt/format.h>

#include "core/trusted_files.hpp"
#include "deepvoro/core/error.hpp"
#include "formats.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kRowsAtOnce = 16;
constexpr std::size_t kInks = 4;

// A progressive picture can ask for the whole of it to be gone through again and again. Programs
// write about ten scans; more are for pictures whose bytes are worth them.
std::size_t most_scans(std::size_t file_bytes, std::size_t pixels) {
  constexpr std::size_t always = 16;
  constexpr std::size_t pixels_per_byte = 2000;  // those of all scans together
  return std::max(always, pixels_per_byte * file_bytes / std::max<std::size_t>(pixels, 1));
}

// What sides are divided by. With a remainder libjpeg would round up: the picture is stretched by a
// fraction of a pixel then, and networks feel that. Other fractions of eight take about as long as
// the whole (docs/PERFORMANCE.md).
unsigned reduction_for(std::size_t width, std::size_t height, std::size_t least_side) {
  for (const unsigned reduction : {8U, 4U, 2U})
    if (width % reduction == 0 && height % reduction == 0 &&
        std::min(width, height) / reduction >= least_side)
      return reduction;
  return 1;
}

constexpr std::string_view kExifHeader{"Exif\0\0", 6};

class JpegReader : private JumpsBack<JpegReader> {
 public:
  JpegReader(std::span<const std::byte> file, const std::string& name) : name_(name) {
    decoder_.err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr decoder) { leave(decoder); };
    errors_.emit_message = [](j_common_ptr decoder, int level) {
      if (level < 0 && is_damage(decoder->err->msg_code)) leave(decoder);
    };
    progress_.progress_monitor = [](j_common_ptr decoder) {
      const int scan = reinterpret_cast<j_decompress_ptr>(decoder)->input_scan_number;
      if (static_cast<std::size_t>(scan) <= self(decoder)->most_scans_) return;
      self(decoder)->too_many_scans_ = true;
      leave(decoder);
    };
    decoder_.client_data = this;
    attempt([&] {
      jpeg_create_decompress(&decoder_);
      decoder_.progress = &progress_;
      jpeg_mem_src(&decoder_, reinterpret_cast<const unsigned char*>(file.data()),
                   static_cast<unsigned long>(file.size()));
      jpeg_save_markers(&decoder_, JPEG_APP0 + 1, 0xFFFF);
      jpeg_read_header(&decoder_, TRUE);
    });
    if (!TrustInAllFiles::is_given()) most_scans_ = most_scans(file.size(), width() * height());
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&decoder_); }

  [[nodiscard]] std::size_t width() const { return decoder_.image_width; }
  [[nodiscard]] std::size_t height() const { return decoder_.image_height; }
  // Of the rows that are read, from start() on.
  [[nodiscard]] std::size_t output_width() const { return decoder_.output_width; }
  [[nodiscard]] std::size_t output_height() const { return decoder_.output_height; }
  [[nodiscard]] J_COLOR_SPACE colors() const { return decoder_.jpeg_color_space; }
  // Of the rows that are read.
  [[nodiscard]] std::size_t channels() const {
    return colors() == JCS_CMYK || colors() == JCS_YCCK ? kInks : kChannels;
  }

  [[nodiscard]] int orientation() const {
    for (auto* marker = decoder_.marker_list; marker != nullptr; marker = marker->next) {
      const std::span<const std::byte> data(reinterpret_cast<const std::byte*>(marker->data),
                                            marker->data_length);
      if (data.size() > kExifHeader.size() &&
          std::memcmp(data.data(), kExifHeader.data(), kExifHeader.size()) == 0)
        return exif_orientation(data.subspan(kExifHeader.size()));
    }
    return 1;
  }

  void start(unsigned reduction) {
    attempt([&] {
      decoder_.scale_num = 1;
      decoder_.scale_denom = reduction;
      decoder_.out_color_space = channels() == kInks ? JCS_CMYK : JCS_RGB;
      jpeg_start_decompress(&decoder_);
    });
  }

  // Fills some rows, one after the other, and says how many.
  std::size_t read(std::span<std::uint8_t> rows) {
    const std::size_t bytes = output_width() * channels();
    const std::size_t begin = decoder_.output_scanline;
    const std::size_t count = std::min(rows.size() / bytes, output_height() - begin);
    attempt([&] {
      while (decoder_.output_scanline < begin + count) {
        std::array<JSAMPROW, kRowsAtOnce> to;
        const std::size_t done = decoder_.output_scanline - begin;
        const std::size_t wanted = std::min(count - done, kRowsAtOnce);
        for (std::size_t i = 0; i < wanted; ++i) to[i] = rows.data() + (done + i) * bytes;
        jpeg_read_scanlines(&decoder_, to.data(), static_cast<JDIMENSION>(wanted));
      }
    });
    return count;
  }

 private:
  friend class JumpsBack<JpegReader>;

  static JpegReader* self(j_common_ptr decoder) {
    return static_cast<JpegReader*>(decoder->client_data);
  }

  [[noreturn]] static void leave(j_common_ptr decoder) { self(decoder)->jump_back(); }

  // Pixels are lost. Other warnings are about what can be passed over.
  static bool is_damage(int code) {
    return code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE ||
           code == JWRN_MUST_RESYNC || code == JWRN_ARITH_BAD_CODE;
  }

  [[noreturn]] void fail() {
    std::array<char, JMSG_LENGTH_MAX> text{};
    errors_.format_message(reinterpret_cast<j_common_ptr>(&decoder_), text.data());
    const bool truncated = errors_.msg_code == JWRN_JPEG_EOF;
    jpeg_destroy_decompress(&decoder_);  // a constructor that throws has no destructor run
    if (truncated) throw_truncated(name_, "JPEG");
    if (too_many_scans_)
      throw data_error(
          fmt::format("{}: its pixels are described in more than {} scans, which takes long; {}",
                      name_, most_scans_, kHowToTrust),
          ErrorCode::bad_picture);
    throw_damaged(name_, "JPEG", text.data());
  }

  const std::string& name_;
  jpeg_decompress_struct decoder_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::size_t most_scans_ = std::numeric_limits<std::size_t>::max();
  bool too_many_scans_ = false;
};

// Ink on white paper. Which colours that gives depends on a printer; this is what most programs
// show. Files hold 255 for no ink, as Adobe's do.
void append_inks(std::span<const std::uint8_t> inks, std::vector<std::uint8_t>& pixels) {
  for (std::size_t i = 0; i < inks.size(); i += kInks)
    for (std::size_t c = 0; c < kChannels; ++c)
      pixels.push_back(static_cast<std::uint8_t>((inks[i + c] * inks[i + kChannels] + 127) / 255));
}

void check_colors(J_COLOR_SPACE colors, const std::string& name) {
  if (colors != JCS_GRAYSCALE && colors != JCS_YCbCr && colors != JCS_RGB && colors != JCS_CMYK &&
      colors != JCS_YCCK)
    throw data_error(
        fmt::format("{}: has colors that are neither grey nor RGB nor CMYK; convert it to RGB",
                    name),
        ErrorCode::bad_picture);
}

}  // namespace

StoredBitmap decode_jpeg(std::span<const std::byte> file, const std::string& name,
                         const PictureLimits& limits, std::size_t least_side) {
  JpegReader reader(file, name);
  check_limits(reader.width(), reader.height(), name, limits);
  check_colors(reader.colors(), name);
  StoredBitmap result{{}, reader.orientation()};
  reader.start(reduction_for(reader.width(), reader.height(), least_side));
  auto& [width, height, pixels] = result.bitmap;
  width = reader.output_width();
  height = reader.output_height();
  // Memory for all pixels is used only as far as there are rows to fill it.
  pixels.reserve(width * height * kChannels);
  const std::size_t row_bytes = width * reader.channels();
  std::vector<std::uint8_t> rows(row_bytes * kRowsAtOnce);
  for (std::size_t y = 0; y < height;) {
    const std::size_t count = reader.read(rows);
    const std::span<const std::uint8_t> read = std::span(rows).first(count * row_bytes);
    if (reader.channels() == kInks)
      append_inks(read, pixels);
    else
      pixels.insert(pixels.end(), read.begin(), read.end());
    y += count;
  }
  return result;
}

}  // namespace deepvoro
