#include "deepvoro/picture/bitmap.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "deepvoro/picture/view.hpp"
#include "expect_error.hpp"
#include "picture/resize.hpp"
#include "picture/resize_kernels.hpp"
#include "test_pictures.hpp"

namespace deepvoro {
namespace {

using test::expect_error;
using test::random_picture;

// A picture of grey levels, row by row.
Bitmap grey(std::size_t width, std::initializer_list<int> levels) {
  Bitmap bitmap{width, levels.size() / width, {}};
  for (const int level : levels)
    bitmap.pixels.insert(bitmap.pixels.end(), 3, static_cast<std::uint8_t>(level));
  return bitmap;
}

TEST(Rotated, TurnsCounterclockwise) {
  const Bitmap bitmap = grey(3, {1, 2, 3,  //
                                 4, 5, 6});
  EXPECT_EQ(rotated(bitmap, 1), grey(2, {3, 6,  //
                                         2, 5,  //
                                         1, 4}));
  EXPECT_EQ(rotated(bitmap, 2), grey(3, {6, 5, 4,  //
                                         3, 2, 1}));
  EXPECT_EQ(rotated(bitmap, 3), grey(2, {4, 1,  //
                                         5, 2,  //
                                         6, 3}));
}

TEST(Rotated, CountsTurnsModuloFour) {
  const Bitmap bitmap = random_picture(5, 3, 1);
  EXPECT_EQ(rotated(bitmap, 4), bitmap);
  EXPECT_EQ(rotated(bitmap, -1), rotated(bitmap, 3));
  EXPECT_EQ(rotated(rotated(bitmap, 1), -5), bitmap);
}

TEST(Flipped, ChangesLeftAndRight) {
  EXPECT_EQ(flipped(grey(3, {1, 2, 3, 4, 5, 6})), grey(3, {3, 2, 1, 6, 5, 4}));
}

TEST(Cropped, CutsOutARectangle) {
  const Bitmap bitmap = grey(3, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(cropped(bitmap, 1, 0, 2, 2), grey(2, {2, 3, 5, 6}));
  EXPECT_EQ(cropped(bitmap, 0, 0, 3, 3), bitmap);
  expect_error(ErrorKind::usage, {"3 x 1 pixels at (1, 0)", "3 x 3"},
               [&] { (void)cropped(bitmap, 1, 0, 3, 1); });
  expect_error(ErrorKind::usage, {"cannot be cut out"},
               [&] { (void)cropped(bitmap, 0, ~std::size_t{0}, 1, 2); });
}

// torchvision: int(round(margin / 2)), and Python rounds halves to even numbers.
TEST(CentralCrop, SplitsOddMarginsLikeTorchvision) {
  EXPECT_EQ(central_crop(grey(4, {0, 1, 2, 3}), 2, 1), grey(2, {1, 2}));
  EXPECT_EQ(central_crop(grey(3, {0, 1, 2}), 2, 1), grey(2, {0, 1}));        // 0.5 to 0
  EXPECT_EQ(central_crop(grey(5, {0, 1, 2, 3, 4}), 2, 1), grey(2, {2, 3}));  // 1.5 to 2
  EXPECT_EQ(central_crop(grey(6, {0, 1, 2, 3, 4, 5}), 1, 1), grey(1, {2}));  // 2.5 to 2
  expect_error(ErrorKind::usage, {"4 x 1", "3 x 1"}, [] {
    (void)central_crop(grey(3, {0, 1, 2}), 4, 1);
  });
}

TEST(Resized, KeepsAConstantPicture) {
  for (const int level : {0, 1, 127, 255})
    for (const Filter filter : {Filter::bilinear, Filter::bicubic}) {
      const Bitmap small =
          resized(grey(2, {level, level, level, level, level, level}), 5, 7, filter);
      for (const auto value : small.pixels) EXPECT_EQ(value, level);
    }
}

TEST(Resized, AveragesWhatItShrinks) {
  EXPECT_EQ(resized(grey(2, {10, 20, 30, 40}), 1, 1), grey(1, {25}));
}

TEST(Resized, OfTheSameSizeIsTheSame) {
  const Bitmap bitmap = random_picture(7, 5, 1);
  EXPECT_EQ(resized(bitmap, 7, 5), bitmap);
}

TEST(Resized, RefusesImpossibleSizes) {
  const Bitmap bitmap = random_picture(3, 3, 1);
  expect_error(ErrorKind::usage, {"0 x 3"}, [&] { (void)resized(bitmap, 0, 3); });
  expect_error(ErrorKind::usage, {"1000000 x 1"}, [&] { (void)resized(bitmap, 1000000, 1); });
  expect_error(ErrorKind::usage, {"without pixels"}, [&] { (void)resized({}, 3, 3); });
  expect_error(ErrorKind::usage, {"3 x 3 has 2 bytes"}, [&] {
    (void)resized({3, 3, {1, 2}}, 3, 2);
  });
}

#ifdef DEEPVORO_X86_KERNELS
constexpr std::size_t kMostRows = 11;

TEST(ResizeKernels, OfAvx2AddDownLikeTheGenericOnes) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no AVX2";
  constexpr std::size_t stride = 200;
  const std::vector<std::uint8_t> rows =
      random_picture(stride / 2 * kMostRows, 1, 7).pixels;  // with slack
  for (std::size_t count = 1; count <= kMostRows; ++count)
    for (const std::size_t bytes : {1U, 15U, 16U, 31U, 32U, 33U, 99U}) {
      std::vector<std::int32_t> weights(count);
      for (std::size_t t = 0; t < count; ++t)
        weights[t] = static_cast<std::int32_t>((1U << 22U) / count) * (t % 3 == 1 ? -1 : 2);
      std::vector<std::uint8_t> one(stride);
      std::vector<std::uint8_t> other(stride);
      resize::generic_table.down(weights.data(), count, rows.data(), stride, bytes, one.data());
      resize::avx2_table.down(weights.data(), count, rows.data(), stride, bytes, other.data());
      one.resize(bytes);
      other.resize(bytes);
      EXPECT_EQ(one, other) << count << " rows of " << bytes;
    }
}
#endif

TEST(View, IsNamedBySizeRotationAndFlip) {
  EXPECT_EQ(name(View{84, 90, true}), "s84_r90_f1");
  EXPECT_EQ(view_named("s150_r270_f0"), (View{150, 270, false}));
  for (const SizeRule rule : {SizeRule::release, SizeRule::paper})
    for (const View& view : all_views(rule)) EXPECT_EQ(view_named(name(view)), view);
}

TEST(View, RefusesOtherNames) {
  for (const char* text :
       {"", "s84", "s84_r45_f0", "s84_r90_f2", "s0_r0_f0", "s-84_r0_f0", "s84_r0_f0 ", "S84_r0_f0",
        "s084_r0_f0", "s99999999999999999999_r0_f0", "s84_r4294967386_f0", "s5000_r0_f0"})
    expect_error(ErrorKind::usage, {"'" + std::string(text) + "' is not a view", "s84_r90_f1"},
                 [&] { (void)view_named(text); });
}

TEST(AllViews, AreSixtyFourDifferentOnes) {
  for (const SizeRule rule : {SizeRule::release, SizeRule::paper}) {
    std::set<std::string> names;
    std::set<std::size_t> sizes;
    for (const View& view : all_views(rule)) {
      names.insert(name(view));
      sizes.insert(view.size);
    }
    EXPECT_EQ(names.size(), 64U);
    EXPECT_EQ(sizes, rule == SizeRule::release
                         ? (std::set<std::size_t>{84, 90, 100, 110, 120, 130, 140, 150})
                         : (std::set<std::size_t>{84, 94, 104, 114, 124, 134, 144, 154}));
  }
}

TEST(Apply, RotatesThenFlipsTheUprightView) {
  const Bitmap bitmap = random_picture(200, 150, 1);
  for (const SizeRule rule : {SizeRule::release, SizeRule::paper})
    for (const View& view : all_views(rule)) {
      const Bitmap upright = apply({view.size, 0, false}, bitmap, rule);
      EXPECT_EQ(upright.width, seen_size(view, rule));
      Bitmap expected = rotated(upright, view.rotation / 90);
      if (view.flip) expected = flipped(expected);
      EXPECT_EQ(apply(view, bitmap, rule), expected) << name(view);
    }
}

TEST(Apply, ResizesByTheRule) {
  const Bitmap bitmap = random_picture(97, 133, 1);
  EXPECT_EQ(apply({100, 0, false}, bitmap),
            cropped(resized(bitmap, 114, 114), 7, 7, 100, 100));  // int(1.15 * 100) is 114
  EXPECT_EQ(apply({94, 0, false}, bitmap, SizeRule::paper),
            cropped(resized(bitmap, 94, 94), 5, 5, 84, 84));
  EXPECT_EQ(apply({84, 0, false}, bitmap, SizeRule::paper), resized(bitmap, 84, 84));
  expect_error(ErrorKind::usage, {"s50_r0_f0", "at least 84"}, [&] {
    (void)apply({50, 0, false}, bitmap, SizeRule::paper);
  });
  expect_error(ErrorKind::usage, {"not 45"}, [&] { (void)apply({84, 45, false}, bitmap); });
}

}  // namespace
}  // namespace deepvoro
