#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "deepvoro/core/export.hpp"
#include "deepvoro/picture/bitmap.hpp"

namespace deepvoro {

// One way of looking at a picture.
struct View {
  std::size_t size = 84;
  int rotation = 0;  // degrees, counterclockwise: 0, 90, 180, 270
  bool flip = false;

  [[nodiscard]] bool operator==(const View&) const = default;
};

[[nodiscard]] DEEPVORO_API std::string name(const View& view);  // "s84_r90_f1"
[[nodiscard]] DEEPVORO_API View view_named(const std::string& text);

// How a view gets its size. release: the picture becomes a square of int(1.15 * size), of which the
// central size x size is taken; sizes 84, 90, 100, ..., 150. paper: the picture becomes a square of
// size = 84 + B, of which the central 84 x 84 is taken; B = 0, 10, ..., 70.
enum class SizeRule { release, paper };

// The 64 views, sizes outermost, then rotations, then flips.
[[nodiscard]] DEEPVORO_API std::vector<View> all_views(SizeRule rule = SizeRule::release);

// Width and height that a view gives a picture before it cuts out the middle.
[[nodiscard]] DEEPVORO_API std::size_t resized_size(const View& view,
                                                    SizeRule rule = SizeRule::release);

// Width and height of a picture seen by a view.
[[nodiscard]] DEEPVORO_API std::size_t seen_size(const View& view,
                                                 SizeRule rule = SizeRule::release);

// The views that a text names: 64 (all), 16 (all sizes, upright and flipped), 8 (rotations and
// flips of the first size), 4 (the first size and a close one, upright and flipped), 1, or names
// with commas. Sizes are multiplied so that the first one is `first_size`.
[[nodiscard]] DEEPVORO_API std::vector<View> parse_views(const std::string& text,
                                                         SizeRule rule = SizeRule::release,
                                                         std::size_t first_size = 84);

// A usage error for a number that is none of those; names are not looked at. For callers that want
// to know before they can tell `first_size`.
DEEPVORO_API void check_number_of_views(const std::string& text);

// Resize (bilinear), central crop, rotation, then horizontal flip.
[[nodiscard]] DEEPVORO_API Bitmap apply(const View& view, const Bitmap& bitmap,
                                        SizeRule rule = SizeRule::release);

}  // namespace deepvoro
