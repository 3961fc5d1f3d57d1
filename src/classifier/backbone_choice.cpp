#include "backbone_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "deepvoro/backbone/registry.hpp"
#include "deepvoro/core/error.hpp"
#include "picture/light_strokes.hpp"

namespace deepvoro {
namespace {

// So many are looked at, from all parts of the collection.
constexpr std::size_t kMostLookedAt = 64;

bool is_white_or_black_drawing(const Bitmap& bitmap) {
  constexpr std::uint8_t darkest_white = 247;
  constexpr std::uint8_t lightest_black = 8;
  std::size_t white = 0;
  std::size_t black = 0;
  for (std::size_t i = 0; i + 2 < bitmap.pixels.size(); i += 3) {
    const std::uint8_t level = bitmap.pixels[i];
    if (level != bitmap.pixels[i + 1] || level != bitmap.pixels[i + 2]) return false;
    white += level >= darkest_white ? 1U : 0U;
    black += level <= lightest_black ? 1U : 0U;
  }
  return 2 * std::max(white, black) >= bitmap.width * bitmap.height;
}

bool is_scanned_drawing(const Bitmap& bitmap) {
  constexpr int strongest_tint = 16;
  constexpr int darkest_paper = 200;
  constexpr int unevenness = 24;
  const int paper = edge_level(bitmap);
  if (paper < darkest_paper) return false;
  std::size_t bright = 0;
  for (std::size_t i = 0; i + 2 < bitmap.pixels.size(); i += 3) {
    const auto [low, high] =
        std::minmax({bitmap.pixels[i], bitmap.pixels[i + 1], bitmap.pixels[i + 2]});
    if (high - low > strongest_tint) return false;
    bright += low >= paper - unevenness ? 1U : 0U;
  }
  return 5 * bright >= 4 * bitmap.width * bitmap.height;
}

}  // namespace

bool is_drawing(const Bitmap& bitmap) {
  return is_white_or_black_drawing(bitmap) || is_scanned_drawing(bitmap);
}

bool is_coloured(const Bitmap& bitmap) {
  constexpr int weakest = 48;
  std::size_t strong = 0;
  for (std::size_t i = 0; i + 2 < bitmap.pixels.size(); i += 3) {
    const auto [low, high] =
        std::minmax({bitmap.pixels[i], bitmap.pixels[i + 1], bitmap.pixels[i + 2]});
    strong += high - low >= weakest ? 1U : 0U;
  }
  return 10 * strong >= bitmap.width * bitmap.height;
}

BackboneChoice installed(BackboneChoice choice) {
  try {
    (void)backbone_file(choice.name);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::missing_network) throw;
    throw data_error(fmt::format("{}; {}; to take them for drawings, use `backbone` {}",
                                 error.what(), choice.reason, kOfDrawings),
                     error.code());
  }
  return choice;
}

bool is_of_drawings(const std::string& backbone) {
  return backbone == kOfDrawings;
}

std::optional<std::string> warning_of_colours(const std::string& backbone, std::size_t coloured,
                                              std::size_t pictures) {
  if (!is_of_drawings(backbone) || 2 * coloured <= pictures) return std::nullopt;
  return fmt::format(
      "{} of {} pictures have colours, but {} was trained on grey drawings only; for photographs "
      "fit with `backbone` {}",
      coloured, pictures, kOfDrawings, kOfPhotographs);
}

BackboneChoice suitable_backbone(std::span<const Picture> pictures) {
  const std::size_t looked_at = std::min(pictures.size(), kMostLookedAt);
  for (std::size_t i = 0; i < looked_at; ++i) {
    const Picture& picture = pictures[i * pictures.size() / looked_at];
    try {
      if (!is_drawing(picture.read()))
        return {kOfPhotographs,
                fmt::format("the pictures are photographs ({} is not a drawing, grey "
                            "and mostly paper)",
                            picture.where)};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
    }
  }
  return {kOfDrawings, "the pictures are drawings, grey and mostly paper"};
}

}  // namespace deepvoro
