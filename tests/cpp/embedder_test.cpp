#include "deepvoro/backbone/embedder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "expect_error.hpp"
#include "features/formats/half.hpp"
#include "picture/light_strokes.hpp"
#include "test_pictures.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::random_picture;

// A network whose features can be told from a picture: side, first red value, mean of all bytes. It
// notes what it was fed together.
class PlainNetwork final : public Backbone {
 public:
  [[nodiscard]] std::size_t dim() const override { return 3; }
  [[nodiscard]] const PixelScale& pixels() const override { return pixels_; }
  [[nodiscard]] std::size_t input_size() const override { return 16; }
  [[nodiscard]] std::size_t smallest_input() const override { return 8; }
  [[nodiscard]] bool light_strokes() const override { return knows_light_strokes; }

  [[nodiscard]] std::unique_ptr<PendingFeatures> begin(std::span<const Bitmap> pictures) override {
    sides_.emplace_back();
    std::vector<float> rows;
    for (const Bitmap& picture : pictures) {
      sides_.back().push_back(picture.width);
      for (const float value : features_of(picture)) rows.push_back(factor * value);
    }
    return std::make_unique<Pending>(rows);
  }

  static std::vector<float> features_of(const Bitmap& picture) {
    double sum = 0;
    for (const std::uint8_t value : picture.pixels) sum += value;
    return {static_cast<float>(picture.width), static_cast<float>(picture.pixels.front()),
            static_cast<float>(sum / static_cast<double>(picture.pixels.size()))};
  }

  // Sides of the pictures of every batch.
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& sides() const { return sides_; }

  float factor = 1;
  bool knows_light_strokes = false;

 private:
  class Pending final : public PendingFeatures {
   public:
    explicit Pending(std::vector<float> rows) : rows_(std::move(rows)) {}
    void copy_to(std::span<float> out) override {
      ASSERT_EQ(out.size(), rows_.size());
      std::ranges::copy(rows_, out.begin());
    }

   private:
    std::vector<float> rows_;
  };

  PixelScale pixels_;
  std::vector<std::vector<std::size_t>> sides_;
};

std::vector<std::uint16_t> expected(const Bitmap& picture, const View& view,
                                    SizeRule rule = SizeRule::release) {
  std::vector<std::uint16_t> halves;
  for (const float value : PlainNetwork::features_of(apply(view, picture, rule)))
    halves.push_back(float_to_half(value));
  return halves;
}

std::vector<std::uint16_t> joined(const std::vector<std::vector<std::uint16_t>>& rows) {
  std::vector<std::uint16_t> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}

std::vector<Bitmap> random_pictures(std::size_t count) {
  std::vector<Bitmap> pictures;
  for (std::uint32_t i = 0; i < count; ++i) pictures.push_back(random_picture(20 + i, 30, i));
  return pictures;
}

PictureList list_of(const std::vector<Bitmap>& pictures) {
  return {.size = pictures.size(),
          .read = [&](std::size_t i) { return std::make_shared<const Bitmap>(pictures[i]); },
          .where = [](std::size_t i) { return "picture " + std::to_string(i); }};
}

TEST(Embedder, OnePictureInAllViewsIsFedSizeBySize) {
  PlainNetwork network;
  const std::vector<View> views{{16, 0, false}, {12, 90, true}, {16, 180, true}};
  Embedder embedder(network, views);
  const Bitmap picture = random_picture(40, 33, 5);
  const std::vector<std::uint16_t> rows = embedder.embed(embedder.seen(picture), "here");
  EXPECT_EQ(rows, joined({expected(picture, views[0]), expected(picture, views[1]),
                          expected(picture, views[2])}));
  EXPECT_EQ(network.sides(), (std::vector<std::vector<std::size_t>>{{12}, {16, 16}}));
}

TEST(Embedder, ManyPicturesInOneViewAreFedInBatches) {
  const std::vector<Bitmap> pictures = random_pictures(7);
  const View view{12, 270, true};
  std::vector<std::vector<std::uint16_t>> rows;
  for (const Bitmap& picture : pictures) rows.push_back(expected(picture, view));
  for (const std::size_t size : {1U, 3U, 7U, 100U})
    for (const unsigned threads : {1U, 3U}) {
      PlainNetwork network;
      Embedder embedder(network, {view});
      std::vector<std::size_t> finished;
      EXPECT_EQ(embedder.embed(list_of(pictures), view,
                               {.size = size,
                                .threads = threads,
                                .finished = [&](std::size_t n) { finished.push_back(n); }}),
                joined(rows));
      std::vector<std::size_t> fed;
      for (const auto& batch : network.sides()) fed.push_back(batch.size());
      EXPECT_EQ(finished, fed);
      EXPECT_EQ(fed.size(), (pictures.size() + size - 1) / size);
      EXPECT_EQ(fed.front(), std::min(size, pictures.size()));
    }
}

TEST(Embedder, TheSizeRuleSaysWhatTheNetworkSees) {
  PlainNetwork network;
  const View view{100, 0, false};
  Embedder embedder(network, {view}, SizeRule::paper);
  const Bitmap picture = random_picture(120, 90, 1);
  EXPECT_EQ(embedder.embed(embedder.seen(picture), "here"),
            expected(picture, view, SizeRule::paper));
  EXPECT_EQ(network.sides().front().front(), 84U);
}

TEST(Embedder, InkOnPaperIsTurnedForANetworkOfLightStrokesAlone) {
  Bitmap paper{60, 40, std::vector<std::uint8_t>(60 * 40 * 3, 240)};
  for (std::size_t x = 60; x < 120; ++x) paper.pixels[20 * 60 * 3 + x] = 20;
  const Bitmap strokes = light_strokes(paper).value();
  const Bitmap dark{60, 40, std::vector<std::uint8_t>(60 * 40 * 3, 10)};
  const View view{16, 0, false};
  PlainNetwork network;
  for (const bool knows : {false, true}) {
    network.knows_light_strokes = knows;
    Embedder embedder(network, {view});
    const Bitmap& shown = knows ? strokes : paper;
    EXPECT_EQ(embedder.embed(embedder.seen(paper), "here"), expected(shown, view));
    EXPECT_EQ(embedder.embed(list_of({paper, dark}), view, {}),
              joined({expected(shown, view), expected(dark, view)}));
  }
}

// Of the largest view, as it is before the middle is cut out.
TEST(Embedder, APictureIsLargeEnoughAtFourTimesItsLargestView) {
  PlainNetwork network;
  EXPECT_EQ(Embedder(network, {{16, 0, false}, {20, 90, true}, {12, 0, false}}).least_side(),
            4 * 23U);
  EXPECT_EQ(Embedder(network, {{100, 0, false}}, SizeRule::paper).least_side(), 400U);
  network.knows_light_strokes = true;  // which looks for strokes on a larger picture than it shows
  EXPECT_EQ(Embedder(network, {{16, 0, false}}).least_side(), 4 * 320U);
  EXPECT_EQ(Embedder(network, {{400, 0, false}}).least_side(), 4 * 459U);
}

TEST(Embedder, NoPicturesHaveNoFeatures) {
  PlainNetwork network;
  Embedder embedder(network, {{16, 0, false}});
  EXPECT_TRUE(embedder.embed(list_of({}), {16, 0, false}, {}).empty());
  EXPECT_TRUE(network.sides().empty());
}

TEST(Embedder, WhatFloat16CannotHoldNamesThePicture) {
  const std::vector<Bitmap> pictures = random_pictures(3);
  const View view{16, 0, false};
  for (const float factor : {1e5F, NAN, -INFINITY}) {
    PlainNetwork network;
    network.factor = factor;
    Embedder embedder(network, {view});
    expect_error(ErrorKind::data, {"picture 0", "float16"},
                 [&] { (void)embedder.embed(list_of(pictures), view, {.size = 2}); });
    expect_error(ErrorKind::data, {"garden.jpg", "float16"},
                 [&] { (void)embedder.embed(embedder.seen(pictures[0]), "garden.jpg"); });
  }
}

TEST(Embedder, APictureThatCannotBeReadEndsTheWork) {
  const View view{16, 0, false};
  for (const std::size_t bad : {0U, 4U}) {
    PlainNetwork network;
    Embedder embedder(network, {view});
    const std::vector<Bitmap> pictures = random_pictures(6);
    PictureList list = list_of(pictures);
    list.read = [&, bad](std::size_t i) {
      if (i == bad) throw data_error("moth: is damaged");
      return std::make_shared<const Bitmap>(pictures[i]);
    };
    expect_error(ErrorKind::data, {"moth"}, [&] { (void)embedder.embed(list, view, {.size = 2}); });
  }
}

TEST(Embedder, ViewsThatCannotBeAreUsageErrors) {
  PlainNetwork network;
  expect_error(ErrorKind::usage, {"at least one view"}, [&] { const Embedder e(network, {}); });
  expect_error(ErrorKind::usage, {"s16_r0_f0", "twice"}, [&] {
    const Embedder e(network, {{16, 0, false}, {16, 0, false}});
  });
  expect_error(ErrorKind::usage, {"s7_r0_f0", "8 pixels"}, [&] {
    const Embedder e(network, {{7, 0, false}});
  });
  Embedder embedder(network, {{16, 0, false}});
  expect_error(ErrorKind::usage, {"batch"}, [&] {
    (void)embedder.embed(list_of({}), {16, 0, false}, {.size = 0});
  });
}

}  // namespace
}  // namespace deepvoro
