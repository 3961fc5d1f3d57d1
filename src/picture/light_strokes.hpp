#pragma once

#include <cstddef>
#include <optional>

#include "deepvoro/picture/bitmap.hpp"

namespace deepvoro {

// Drawings with a longer side are made smaller first.
inline constexpr std::size_t kLargestSheet = 320;

// A drawing in ink on paper, or its photograph, as light strokes on black: in the middle of a
// square, the longer side 7/8 of it. Nothing where the picture is none: where the median of its
// edge is dark, which is how light strokes on black look, or nothing is drawn. Whole numbers
// throughout, so the same bits everywhere.
[[nodiscard]] std::optional<Bitmap> light_strokes(const Bitmap& picture);

// How bright the edge of a picture is, 0 to 255: the median of its luminance.
[[nodiscard]] int edge_level(const Bitmap& picture);

}  // namespace deepvoro
