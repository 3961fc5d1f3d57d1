#pragma once

#include "deepvoro/picture/decode.hpp"

namespace deepvoro::fuzz {

// Large ones take longer and show nothing else.
inline constexpr PictureLimits kSmallPictures{.most_pixels = std::size_t{1} << 14U,
                                              .most_side = 1024};

}  // namespace deepvoro::fuzz
