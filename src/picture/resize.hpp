#pragma once

#include <cstddef>

#include "deepvoro/picture/bitmap.hpp"

namespace deepvoro {

enum class Filter { bilinear, bicubic };

// Antialiased: the filter widens where the picture shrinks. Same bits as Pillow's resize of an RGB
// picture, at any instruction set.
[[nodiscard]] Bitmap resized(const Bitmap& bitmap, std::size_t width, std::size_t height,
                             Filter filter = Filter::bilinear);

}  // namespace deepvoro
