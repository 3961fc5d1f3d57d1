#include "test_pictures.hpp"

#include <fmt/format.h>
#include <png.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <stdexcept>

// jpeglib.h needs what <cstdio> declares.
#include <jpeglib.h>

namespace deepvoro::test {

Bitmap random_picture(std::size_t width, std::size_t height, std::uint32_t seed) {
  std::mt19937 generator(seed);
  Bitmap bitmap{width, height, std::vector<std::uint8_t>(width * height * 3)};
  for (auto& level : bitmap.pixels) level = static_cast<std::uint8_t>(generator() >> 24U);
  return bitmap;
}

std::string jpeg_bytes(const Bitmap& bitmap, JpegColors colors, bool progressive) {
  jpeg_compress_struct encoder{};
  jpeg_error_mgr errors{};
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&encoder, &memory, &size);
  encoder.image_width = static_cast<JDIMENSION>(bitmap.width);
  encoder.image_height = static_cast<JDIMENSION>(bitmap.height);
  const int channels = colors == JpegColors::rgb ? 3 : colors == JpegColors::grey ? 1 : 4;
  encoder.input_components = channels;
  encoder.in_color_space = colors == JpegColors::rgb    ? JCS_RGB
                           : colors == JpegColors::grey ? JCS_GRAYSCALE
                                                        : JCS_CMYK;
  jpeg_set_defaults(&encoder);
  if (progressive) jpeg_simple_progression(&encoder);
  jpeg_start_compress(&encoder, TRUE);
  std::vector<unsigned char> row(bitmap.width * 4);
  for (std::size_t y = 0; y < bitmap.height; ++y) {
    for (std::size_t x = 0; x < bitmap.width; ++x)
      for (int c = 0; c < channels; ++c)
        row[x * static_cast<std::size_t>(channels) + static_cast<std::size_t>(c)] =
            bitmap.pixels[(y * bitmap.width + x) * 3 + static_cast<std::size_t>(c % 3)];
    unsigned char* rows[] = {row.data()};
    jpeg_write_scanlines(&encoder, rows, 1);
  }
  jpeg_finish_compress(&encoder);
  std::string bytes(reinterpret_cast<const char*>(memory), size);
  jpeg_destroy_compress(&encoder);
  std::free(memory);
  return bytes;
}

std::string png_bytes(const Bitmap& bitmap) {
  png_image description{};
  description.version = PNG_IMAGE_VERSION;
  description.width = static_cast<png_uint_32>(bitmap.width);
  description.height = static_cast<png_uint_32>(bitmap.height);
  description.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  std::string bytes;
  if (png_image_write_to_memory(&description, nullptr, &size, 0, bitmap.pixels.data(), 0,
                                nullptr) == 0)
    throw std::runtime_error("no PNG");
  bytes.resize(size);
  if (png_image_write_to_memory(&description, bytes.data(), &size, 0, bitmap.pixels.data(), 0,
                                nullptr) == 0)
    throw std::runtime_error("no PNG");
  bytes.resize(size);
  return bytes;
}

std::string jpeg_header(std::uint16_t width, std::uint16_t height) {
  std::string bytes = jpeg_bytes(random_picture(8, 8, 1));
  const std::size_t frame = bytes.find("\xFF\xC0");
  for (std::size_t i = 0; i < 2; ++i) {
    bytes[frame + 5 + i] =
        static_cast<char>(static_cast<unsigned>(height) >> (8 * (1 - i)) & 0xFFU);
    bytes[frame + 7 + i] = static_cast<char>(static_cast<unsigned>(width) >> (8 * (1 - i)) & 0xFFU);
  }
  return bytes;
}

std::string png_header(std::uint32_t width, std::uint32_t height) {
  const std::string chunk =
      "IHDR" + big_endian(width) + big_endian(height) + std::string("\x08\x02\x00\x00\x00", 5);
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : chunk) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  // A data chunk has to follow before the header counts as read.
  return "\x89PNG\r\n\x1A\n" + big_endian(13) + chunk + big_endian(~crc) + big_endian(0) + "IDAT" +
         big_endian(0x35AF061E);
}

std::string tar_bytes(const std::vector<TarMember>& members) {
  constexpr std::size_t block = 512;
  std::string archive;
  for (const TarMember& member : members) {
    std::string header(block, '\0');
    header.replace(0, member.path.size(), member.path);
    header.replace(100, 7, "0000644");
    header.replace(124, 11, fmt::format("{:011o}", member.data.size()));
    header.replace(148, 8, 8, ' ');
    header[156] = member.type;
    header.replace(257, 6, "ustar ");
    const unsigned sum = std::accumulate(
        header.begin(), header.end(), 0U,
        [](unsigned total, char c) { return total + static_cast<unsigned char>(c); });
    header.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
    archive += header + member.data;
    archive.resize((archive.size() + block - 1) / block * block, '\0');
  }
  return archive.append(2 * block, '\0');
}

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(number >> shift & 0xFFU);
  return bytes;
}

}  // namespace deepvoro::test
