#pragma once

#include <cstddef>

#include "deepvoro/image/image.hpp"

namespace deepvoro {

enum class Filter { bilinear, bicubic };

// Antialiased: the filter widens where the picture shrinks. Same bits as Pillow's resize of an RGB
// picture, at any instruction set.
[[nodiscard]] Image resized(const Image& image, std::size_t width, std::size_t height,
                            Filter filter = Filter::bilinear);

}  // namespace deepvoro
