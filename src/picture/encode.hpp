#pragma once

#include <cstddef>
#include <vector>

#include "deepvoro/picture/bitmap.hpp"

namespace deepvoro {

// A PNG file. The bitmap must have pixels.
[[nodiscard]] std::vector<std::byte> encode_png(const Bitmap& bitmap);

}  // namespace deepvoro
