#pragma once

#include <span>
#include <vector>

#include "deepvoro/picture/bitmap.hpp"
#include "deepvoro/picture/view.hpp"

namespace deepvoro {

// The one way from a picture to what a network is fed.
struct NetworkInput {
  bool light_strokes = false;  // as Backbone::light_strokes()
  SizeRule rule = SizeRule::release;

  [[nodiscard]] std::vector<Bitmap> seen(const Bitmap& picture, std::span<const View> views) const;
};

}  // namespace deepvoro
