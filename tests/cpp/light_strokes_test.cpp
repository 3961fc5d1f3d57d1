#include "picture/light_strokes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "picture/resize.hpp"

namespace deepvoro {
namespace {

using Level = std::function<int(std::size_t x, std::size_t y)>;

Bitmap grey_bitmap(std::size_t width, std::size_t height, const Level& level) {
  Bitmap bitmap{width, height, {}};
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x)
      bitmap.pixels.insert(bitmap.pixels.end(), 3, static_cast<std::uint8_t>(level(x, y)));
  return bitmap;
}

// A ring, off the middle, on paper that is lit from the left.
bool is_ring(std::size_t x, std::size_t y, std::size_t scale) {
  const auto dx = static_cast<double>(x) / static_cast<double>(scale) - 30;
  const auto dy = static_cast<double>(y) / static_cast<double>(scale) - 24;
  const double square = dx * dx + dy * dy;
  return square > 10 * 10 && square < 12 * 12;
}

Bitmap ring_on_paper(std::size_t scale) {
  return grey_bitmap(80 * scale, 60 * scale, [&](std::size_t x, std::size_t y) {
    const int paper = 230 - static_cast<int>(x / scale);
    return is_ring(x, y, scale) ? paper - 120 : paper;
  });
}

// Left, top, right, bottom of what is at least half as bright as can be.
std::array<std::size_t, 4> box_of(const Bitmap& bitmap) {
  std::array<std::size_t, 4> box{bitmap.width, bitmap.height, 0, 0};
  for (std::size_t y = 0; y < bitmap.height; ++y)
    for (std::size_t x = 0; x < bitmap.width; ++x)
      if (bitmap.pixels[(y * bitmap.width + x) * 3] >= 128)
        box = {std::min(box[0], x), std::min(box[1], y), std::max(box[2], x + 1),
               std::max(box[3], y + 1)};
  return box;
}

// The same by plain loops.
Bitmap plain_ink(const Bitmap& paper) {
  const auto grey = [&](std::size_t x, std::size_t y) {
    const std::uint8_t* pixel = paper.pixels.data() + (y * paper.width + x) * 3;
    return (299 * pixel[0] + 587 * pixel[1] + 114 * pixel[2] + 500) / 1000;
  };
  const std::size_t radius =
      std::max<std::size_t>(8, (std::max(paper.width, paper.height) + 4) / 8);
  return grey_bitmap(paper.width, paper.height, [&](std::size_t x, std::size_t y) {
    int sum = 0;
    int count = 0;
    for (std::size_t v = 0; v < paper.height; ++v)
      for (std::size_t u = 0; u < paper.width; ++u)
        if (std::max(u, x) - std::min(u, x) <= radius &&
            std::max(v, y) - std::min(v, y) <= radius) {
          sum += grey(u, v);
          ++count;
        }
    return std::clamp((sum / count - grey(x, y) - 24) * 255 / 48, 0, 255);
  });
}

TEST(LightStrokes, InkOnPaperIsWhatIsDarkerThanThePaperAroundIt) {
  const Bitmap paper = ring_on_paper(1);
  const std::optional<Bitmap> found = light_strokes(paper);
  ASSERT_TRUE(found);
  const Bitmap ink = plain_ink(paper);
  const auto [left, top, right, bottom] = box_of(ink);
  const Bitmap inner =
      resized(cropped(ink, left, top, right - left, bottom - top), 112, 112);  // a ring is square
  Bitmap expected = grey_bitmap(128, 128, [](std::size_t, std::size_t) { return 0; });
  for (std::size_t y = 0; y < 112; ++y)
    std::copy_n(inner.pixels.begin() + static_cast<std::ptrdiff_t>(y * 112 * 3), 112 * 3,
                expected.pixels.begin() + static_cast<std::ptrdiff_t>(((y + 8) * 128 + 8) * 3));
  EXPECT_EQ(*found, expected);
}

TEST(LightStrokes, TheDrawingIsInTheMiddleWhateverThePaperIsLike) {
  for (const std::size_t scale : {1U, 4U, 9U}) {
    const std::optional<Bitmap> found = light_strokes(ring_on_paper(scale));
    ASSERT_TRUE(found);
    ASSERT_EQ(found->width, 128U);
    ASSERT_EQ(found->height, 128U);
    const std::array<std::size_t, 4> box = box_of(*found);
    for (const std::size_t side : {0U, 1U}) EXPECT_NEAR(static_cast<double>(box[side]), 8, 2);
    for (const std::size_t side : {2U, 3U}) EXPECT_NEAR(static_cast<double>(box[side]), 120, 2);
    for (std::size_t i = 0; i < 128 * 3; ++i) EXPECT_EQ(found->pixels[i], 0);
  }
}

TEST(LightStrokes, ALongDrawingKeepsItsProportions) {
  const Bitmap line = grey_bitmap(100, 100, [](std::size_t x, std::size_t y) {
    return y >= 40 && y < 44 && x >= 20 && x < 76 ? 0 : 255;
  });
  const std::array<std::size_t, 4> box = box_of(light_strokes(line).value());
  EXPECT_EQ(box[2] - box[0], 112U);
  EXPECT_EQ(box[3] - box[1], 8U);
}

TEST(LightStrokes, WhatIsDarkAroundTheEdgeStaysAsItIs) {
  const Bitmap sketch = grey_bitmap(
      32, 32, [](std::size_t x, std::size_t y) { return is_ring(2 * x, 2 * y, 1) ? 255 : 0; });
  EXPECT_FALSE(light_strokes(sketch));
  const auto with_edge = [](int level) {
    return grey_bitmap(
        32, 32, [level](std::size_t x, std::size_t) { return x >= 14 && x < 17 ? 0 : level; });
  };
  EXPECT_FALSE(light_strokes(with_edge(95)));
  EXPECT_TRUE(light_strokes(with_edge(96)));
}

TEST(LightStrokes, HalfOfTheEdgeDecides) {
  // Strokes that touch the edge of a sketch, or a dark table beside the paper, change nothing.
  const auto with_dark_rows = [](std::size_t rows) {
    return grey_bitmap(40, 40, [rows](std::size_t x, std::size_t y) {
      return y < rows || (x > 18 && x < 22 && y > 30 && y < 36) ? 0 : 255;
    });
  };
  EXPECT_TRUE(light_strokes(with_dark_rows(12)));
  EXPECT_FALSE(light_strokes(with_dark_rows(28)));
}

TEST(LightStrokes, AnEmptySheetHasNone) {
  for (const int level : {120, 255})
    EXPECT_FALSE(
        light_strokes(grey_bitmap(50, 40, [level](std::size_t, std::size_t) { return level; })));
  for (const auto& [width, height] : {std::tuple{1, 1}, {1, 7}, {7, 1}, {2, 2}})
    EXPECT_FALSE(
        light_strokes(grey_bitmap(static_cast<std::size_t>(width), static_cast<std::size_t>(height),
                                  [](std::size_t, std::size_t) { return 255; })));
}

}  // namespace
}  // namespace deepvoro
