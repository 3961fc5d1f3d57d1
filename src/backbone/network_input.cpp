#include "network_input.hpp"

#include <optional>

#include "picture/light_strokes.hpp"

namespace deepvoro {

std::vector<Bitmap> NetworkInput::seen(const Bitmap& picture, std::span<const View> views) const {
  const std::optional<Bitmap> drawn =
      light_strokes ? deepvoro::light_strokes(picture) : std::nullopt;
  std::vector<Bitmap> seen;
  seen.reserve(views.size());
  for (const View& view : views) seen.push_back(apply(view, drawn ? *drawn : picture, rule));
  return seen;
}

}  // namespace deepvoro
