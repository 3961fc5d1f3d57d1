#include "deepvoro/picture/decode.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>

#include "core/trusted_files.hpp"
#include "expect_error.hpp"
#include "picture/formats.hpp"
#include "picture/resize.hpp"
#include "test_pictures.hpp"
#include "test_store.hpp"

namespace deepvoro {
namespace {

using test::expect_code;
using test::expect_error;
using test::jpeg_bytes;
using test::jpeg_header;
using test::JpegColors;
using test::png_bytes;
using test::png_header;
using test::random_picture;

Bitmap decoded(const std::string& file, const PictureLimits& limits = {},
               std::size_t least_side = kAllPixels) {
  return decode_picture(std::as_bytes(std::span(file)), "bird.jpg", limits, least_side);
}

void expect_not_decoded(const std::string& file,
                        std::initializer_list<std::string_view> fragments) {
  expect_error(ErrorKind::data, fragments, [&] { (void)decoded(file); });
  expect_code(ErrorCode::bad_picture, [&] { (void)decoded(file); });
}

TEST(DecodePicture, GivesThePixelsOfAPng) {
  const Bitmap picture = random_picture(13, 7, 1);
  EXPECT_EQ(decoded(png_bytes(picture)), picture);
}

TEST(DecodePicture, GivesAlmostThePixelsOfASmoothJpeg) {
  Bitmap picture{40, 24, {}};
  for (std::size_t y = 0; y < 24; ++y)
    for (std::size_t x = 0; x < 40; ++x)
      for (const std::size_t level : {3 * x, 5 * y, 2 * (x + y)})
        picture.pixels.push_back(static_cast<std::uint8_t>(level));
  for (const bool progressive : {false, true}) {
    const Bitmap read = decoded(jpeg_bytes(picture, JpegColors::rgb, progressive));
    ASSERT_EQ(read.width, 40U);
    ASSERT_EQ(read.height, 24U);
    for (std::size_t i = 0; i < read.pixels.size(); ++i)
      ASSERT_NEAR(read.pixels[i], picture.pixels[i], 16) << i;
  }
}

TEST(DecodePicture, MakesGreyThreeEqualChannels) {
  const Bitmap read = decoded(jpeg_bytes(random_picture(9, 9, 2), JpegColors::grey));
  ASSERT_EQ(read.pixels.size(), 9U * 9U * 3U);
  for (std::size_t i = 0; i < read.pixels.size(); i += 3) {
    EXPECT_EQ(read.pixels[i], read.pixels[i + 1]);
    EXPECT_EQ(read.pixels[i], read.pixels[i + 2]);
  }
}

TEST(DecodePicture, RefusesWhatIsNoPictureByName) {
  expect_not_decoded("", {"bird.jpg", "is empty", "remove it"});
  expect_not_decoded("This is not a bird.\n",
                     {"bird.jpg", "is not a picture of a known kind", "convert it"});
  expect_not_decoded("\xFF\xD8\xFF", {"bird.jpg", "JPEG"});
  expect_not_decoded("\x89PNG\r\n\x1A\n", {"bird.jpg", "truncated PNG file"});
}

TEST(DecodePicture, ShowsInkOnWhitePaper) {
  const std::string file = jpeg_bytes(Bitmap{8, 8, std::vector<std::uint8_t>(8 * 8 * 3, 255)},
                                      JpegColors::cmyk);  // 255 is no ink
  const Bitmap white = decoded(file);
  EXPECT_EQ(std::ranges::count(white.pixels, 255), 8 * 8 * 3);
}

TEST(DecodePicture, RefusesHugeSizesBeforeItTakesMemory) {
  expect_not_decoded(jpeg_header(30000, 30000),
                     {"bird.jpg", "30000 x 30000 pixels", "make it smaller"});
  expect_not_decoded(jpeg_header(65000, 1), {"bird.jpg", "65000 x 1 pixels"});
  expect_not_decoded(png_header(30000, 30000), {"bird.jpg", "30000 x 30000 pixels"});
  expect_not_decoded(png_header(2'000'000'000, 2'000'000'000), {"bird.jpg", "pixels"});
  // Just within the limits: memory is there only for rows that are.
  expect_not_decoded(png_header(8192, 8192), {"bird.jpg", "truncated PNG file"});
}

TEST(DecodePicture, KeepsToTheCallersLimits) {
  const std::string file = png_bytes(random_picture(20, 10, 1));
  EXPECT_EQ(decoded(file, {.most_pixels = 200, .most_side = 20}).width, 20U);
  for (const PictureLimits limits : {PictureLimits{199, 20}, PictureLimits{200, 19}})
    expect_error(ErrorKind::data, {"bird.jpg", "20 x 10 pixels"},
                 [&] { (void)decoded(file, limits); });
}

TEST(DecodePicture, RefusesEveryTruncation) {
  const Bitmap picture = random_picture(24, 17, 3);
  for (const std::string& whole :
       {jpeg_bytes(picture), jpeg_bytes(picture, JpegColors::rgb, true), png_bytes(picture)})
    for (std::size_t length = 0; length + 2 < whole.size(); ++length)
      expect_not_decoded(whole.substr(0, length), {"bird.jpg"});
}

// Damage may go unnoticed where a format has no checksum; then there is a picture of a sane size.
TEST(DecodePicture, SurvivesDamage) {
  const Bitmap picture = random_picture(24, 17, 4);
  std::mt19937 generator(5);
  std::size_t refused = 0;
  for (const std::string& whole :
       {jpeg_bytes(picture), jpeg_bytes(picture, JpegColors::rgb, true), png_bytes(picture)})
    for (int round = 0; round < 3000; ++round) {
      std::string damaged = whole;
      for (unsigned flips = 1 + generator() % 4; flips > 0; --flips)
        damaged[generator() % damaged.size()] ^= static_cast<char>(1U << generator() % 8);
      if (round % 5 == 0) damaged.resize(generator() % damaged.size());
      try {
        const Bitmap read = decoded(damaged, {.most_pixels = 1U << 20U, .most_side = 1U << 12U});
        EXPECT_EQ(read.pixels.size(), read.width * read.height * 3);
      } catch (const Error& error) {
        ++refused;
        EXPECT_EQ(error.kind(), ErrorKind::data);
        EXPECT_TRUE(std::string_view(error.what()).starts_with("bird.jpg: ")) << error.what();
      }
    }
  EXPECT_GT(refused, 3000U);  // at least all damaged PNG files, which have checksums
}

// In a progressive picture of one colour a scan takes a few bytes, whatever the size, and may come
// again and again.
TEST(DecodePicture, RefusesMoreScansThanItsBytesAreWorth) {
  const Bitmap grey{512, 512, std::vector<std::uint8_t>(std::size_t{512} * 512 * 3, 128)};
  const std::string whole = jpeg_bytes(grey, JpegColors::rgb, true);
  const std::size_t first = whole.find("\xFF\xDA");
  const std::size_t begin = whole.find("\xFF\xDA", first + 2);
  const std::size_t end = whole.find("\xFF\xC4", begin);
  const auto with_scans = [&](int more) {
    std::string repeated = whole.substr(0, end);
    for (int i = 0; i < more; ++i) repeated += whole.substr(begin, end - begin);
    return repeated + whole.substr(end);
  };
  EXPECT_EQ(decoded(with_scans(5)), decoded(whole));
  expect_not_decoded(with_scans(300), {"bird.jpg", "scans", "`trust_files`"});
  expect_error(ErrorKind::data, {"bird.jpg", "scans"},
               [&] { (void)decoded(with_scans(300), {}, 1); });
  const TrustInAllFiles trust;
  EXPECT_EQ(decoded(with_scans(300)), decoded(whole));
}

using Size = std::pair<std::size_t, std::size_t>;

Size size_at(const std::string& file, std::size_t least_side) {
  const Bitmap bitmap = decoded(file, {}, least_side);
  EXPECT_EQ(bitmap.pixels.size(), bitmap.width * bitmap.height * kChannels);
  return {bitmap.width, bitmap.height};
}

TEST(DecodeReduced, BothSidesStayAsLongAsIsNeeded) {
  const std::string wide = jpeg_bytes(random_picture(160, 120, 1));
  EXPECT_EQ(size_at(wide, kAllPixels), Size(160, 120));
  EXPECT_EQ(size_at(wide, 61), Size(160, 120));
  EXPECT_EQ(size_at(wide, 60), Size(80, 60));
  EXPECT_EQ(size_at(wide, 31), Size(80, 60));
  EXPECT_EQ(size_at(wide, 30), Size(40, 30));
  EXPECT_EQ(size_at(wide, 16), Size(40, 30));
  EXPECT_EQ(size_at(wide, 15), Size(20, 15));
  EXPECT_EQ(size_at(wide, 1), Size(20, 15));
  const std::string tall = jpeg_bytes(random_picture(120, 160, 1));
  EXPECT_EQ(size_at(tall, 61), Size(120, 160));
  EXPECT_EQ(size_at(tall, 60), Size(60, 80));
}

// Half a pixel would be stretched to a whole one.
TEST(DecodeReduced, SidesAreDividedWithoutRemainder) {
  EXPECT_EQ(size_at(jpeg_bytes(random_picture(161, 120, 1)), 1), Size(161, 120));
  EXPECT_EQ(size_at(jpeg_bytes(random_picture(160, 119, 1)), 1), Size(160, 119));
  EXPECT_EQ(size_at(jpeg_bytes(random_picture(162, 120, 1)), 1), Size(81, 60));
  EXPECT_EQ(size_at(jpeg_bytes(random_picture(160, 116, 1)), 1), Size(40, 29));
  EXPECT_EQ(size_at(jpeg_bytes(random_picture(1, 1, 1)), 1), Size(1, 1));
}

TEST(DecodeReduced, WhatIsNotMuchLargerThanNeededIsAsEver) {
  const std::string file = jpeg_bytes(random_picture(104, 80, 2));
  for (const std::size_t least_side : {41U, 80U, 81U, 1000U})
    EXPECT_EQ(decoded(file, {}, least_side), decoded(file));
}

TEST(DecodeReduced, OtherFormatsKeepAllPixels) {
  const Bitmap picture = random_picture(64, 64, 3);
  EXPECT_EQ(decoded(png_bytes(picture), {}, 1), picture);
}

struct PixelDifference {
  double mean = 0;
  int largest = 0;
};

PixelDifference difference(const Bitmap& one, const Bitmap& other) {
  PixelDifference found;
  EXPECT_EQ(one.pixels.size(), other.pixels.size());
  for (std::size_t i = 0; i < one.pixels.size(); ++i) {
    const int by = std::abs(one.pixels[i] - other.pixels[i]);
    found.mean += by / static_cast<double>(one.pixels.size());
    found.largest = std::max(found.largest, by);
  }
  return found;
}

// Detail of every size: noise, and noise that is made larger.
Bitmap detailed_picture(std::size_t width, std::size_t height) {
  Bitmap picture = random_picture(width, height, 1);
  for (auto& level : picture.pixels) level = static_cast<std::uint8_t>(level / 8);
  for (const std::size_t size : {4U, 16U, 64U}) {
    const Bitmap coarse =
        resized(random_picture(width / size, height / size, static_cast<unsigned>(size)), width,
                height, Filter::bicubic);
    for (std::size_t i = 0; i < picture.pixels.size(); ++i)
      picture.pixels[i] = static_cast<std::uint8_t>(picture.pixels[i] + coarse.pixels[i] / 4);
  }
  return picture;
}

// 0.45 on average and 2 at most were measured; a shift by a quarter of a pixel gives 1 and 5.
TEST(DecodeReduced, WhatASmallViewShowsIsNearlyTheSame) {
  const Bitmap picture = detailed_picture(544, 416);
  for (const JpegColors colors : {JpegColors::rgb, JpegColors::grey, JpegColors::cmyk})
    for (const bool progressive : {false, true}) {
      const std::string file = jpeg_bytes(picture, colors, progressive);
      for (const std::size_t side : {52U, 26U, 13U}) {
        const Bitmap reduced = decoded(file, {}, 4 * side);
        ASSERT_EQ(reduced.height, 4 * side);
        const auto [mean, largest] =
            difference(resized(reduced, side, side), resized(decoded(file), side, side));
        EXPECT_LT(mean, 0.5);
        EXPECT_LE(largest, 2);
      }
    }
}

std::string tiff(const std::string& entries, std::uint32_t directory = 8) {
  return "MM" + std::string("\0*", 2) + test::big_endian(directory) + entries;
}

std::string with_orientation(const std::string& jpeg, char orientation) {
  const std::string exif =
      std::string("Exif\0\0", 6) +
      tiff(std::string("\0\1\x01\x12\0\3\0\0\0\1\0", 11) + orientation + std::string("\0\0", 2));
  const auto length = static_cast<char>(exif.size() + 2);
  return jpeg.substr(0, 2) + "\xFF\xE1" + '\0' + length + exif + jpeg.substr(2);
}

TEST(DecodeReduced, APictureIsHeldAsExifSays) {
  const std::string file = jpeg_bytes(random_picture(160, 120, 4));
  const Bitmap stored = decoded(file, {}, 30);
  ASSERT_EQ(stored.width, 40U);
  EXPECT_EQ(decoded(with_orientation(file, 1), {}, 30), stored);
  EXPECT_EQ(decoded(with_orientation(file, 3), {}, 30), rotated(stored, 2));
  EXPECT_EQ(decoded(with_orientation(file, 6), {}, 30), rotated(stored, 3));
  EXPECT_EQ(decoded(with_orientation(file, 7), {}, 30), flipped(rotated(stored, 1)));
}

std::string error_of(const std::string& file, std::size_t least_side) {
  try {
    (void)decoded(file, {}, least_side);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(DecodeReduced, ErrorsAreThoseOfTheWhole) {
  const Bitmap picture = random_picture(56, 32, 5);
  for (const std::string& whole :
       {jpeg_bytes(picture), jpeg_bytes(picture, JpegColors::rgb, true),
        jpeg_bytes(picture, JpegColors::grey), jpeg_bytes(picture, JpegColors::cmyk)})
    for (std::size_t length = 0; length + 2 < whole.size(); ++length) {
      const std::string truncated = whole.substr(0, length);
      const std::string expected = error_of(truncated, kAllPixels);
      ASSERT_FALSE(expected.empty()) << length;
      for (const std::size_t least_side : {1U, 7U, 14U})
        ASSERT_EQ(error_of(truncated, least_side), expected) << length;
    }
  const std::string huge = jpeg_header(30000, 30000);
  EXPECT_EQ(error_of(huge, 1), error_of(huge, kAllPixels));
}

TEST(ReadBitmap, NamesTheFile) {
  const test::TemporaryFolder folder;
  const Bitmap picture = random_picture(5, 6, 1);
  test::write_file(folder / "a.png", png_bytes(picture));
  EXPECT_EQ(read_bitmap(folder / "a.png"), picture);
  expect_error(ErrorKind::data, {"missing.png", "cannot be read"},
               [&] { (void)read_bitmap(folder / "missing.png"); });
}

int orientation(const std::string& bytes) {
  return exif_orientation(std::as_bytes(std::span(bytes)));
}

TEST(ExifOrientation, IsUprightWhereTheDataAreBroken) {
  const std::string entry("\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00", 12);
  const std::string whole = tiff(std::string("\0\1", 2) + entry);
  EXPECT_EQ(orientation(whole), 6);
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_EQ(orientation(whole.substr(0, length)), 1) << length;
  EXPECT_EQ(orientation(tiff(std::string("\0\1", 2) + entry, 0xFFFFFFFF)), 1);
  EXPECT_EQ(orientation(tiff(std::string("\xFF\xFF", 2) + std::string(24, '\0'))), 1);
  std::string nine = whole;
  nine[19] = 9;
  EXPECT_EQ(orientation(nine), 1);
}

TEST(ExifOrientation, IsAShortOrALongInEitherByteOrder) {
  const auto big = [](char type, std::string_view value) {
    return orientation(tiff(std::string("\0\1\x01\x12\0", 5) + type + std::string("\0\0\0\1", 4) +
                            std::string(value)));
  };
  const auto little = [](char type, std::string_view value) {
    return orientation(std::string("II*\0\x08\0\0\0\1\0\x12\x01", 12) + type +
                       std::string("\0\1\0\0\0", 5) + std::string(value));
  };
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(big(3, "\0\6\0\0"sv), 6);
  EXPECT_EQ(big(4, "\0\0\0\6"sv), 6);
  EXPECT_EQ(little(3, "\6\0\0\0"sv), 6);
  EXPECT_EQ(little(4, "\6\0\0\0"sv), 6);
  for (const char type : std::initializer_list<char>{0, 1, 2, 5, 7, 11, 12}) {
    EXPECT_EQ(big(type, "\0\6\0\6"sv), 1) << int{type};
    EXPECT_EQ(little(type, "\6\0\0\0"sv), 1) << int{type};
  }
  // A long that a short would be cut out of.
  EXPECT_EQ(big(4, "\0\6\0\0"sv), 1);
  EXPECT_EQ(little(4, "\6\0\1\0"sv), 1);
}

}  // namespace
}  // namespace deepvoro
