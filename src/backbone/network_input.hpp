#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "deepvoro/picture/bitmap.hpp"
#include "deepvoro/picture/view.hpp"

namespace deepvoro {

// The one way from a picture to what a network is fed.
struct NetworkInput {
  bool light_strokes = false;  // as Backbone::light_strokes()
  SizeRule rule = SizeRule::release;
  bool fast_decode = false;

  // For decode_picture(), of pictures that are seen in these views: all pixels, or with
  // `fast_decode` what Embedder says.
  [[nodiscard]] std::size_t least_side(std::span<const View> views) const;
  [[nodiscard]] std::vector<Bitmap> seen(const Bitmap& picture, std::span<const View> views) const;
};

}  // namespace deepvoro
