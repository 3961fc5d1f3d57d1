#include "network_input.hpp"

#include <algorithm>
#include <optional>

#include "deepvoro/picture/decode.hpp"
#include "picture/light_strokes.hpp"

namespace deepvoro {

std::size_t NetworkInput::least_side(std::span<const View> views) const {
  if (!fast_decode) return kAllPixels;
  // With fewer, features change by more than where a file is saved with quality 90 instead of 95
  // (docs/PERFORMANCE.md).
  constexpr std::size_t times = 4;
  std::size_t largest = light_strokes ? kLargestSheet : 0;
  for (const View& view : views) largest = std::max(largest, resized_size(view, rule));
  return times * largest;
}

std::vector<Bitmap> NetworkInput::seen(const Bitmap& picture, std::span<const View> views) const {
  const std::optional<Bitmap> drawn =
      light_strokes ? deepvoro::light_strokes(picture) : std::nullopt;
  std::vector<Bitmap> seen;
  seen.reserve(views.size());
  for (const View& view : views) seen.push_back(apply(view, drawn ? *drawn : picture, rule));
  return seen;
}

}  // namespace deepvoro
