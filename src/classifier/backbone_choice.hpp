#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "deepvoro/classifier/picture_options.hpp"
#include "deepvoro/picture/picture.hpp"

namespace deepvoro {

inline constexpr const char* kOfDrawings = "quickdraw-conv4";
inline constexpr const char* kOfPhotographs = "resnet50";

// Whether a picture is a drawing: grey, and at least half of it is paper, white or black; or, as a
// scanner sees ink on paper, with hardly a colour, and at least four fifths of it are as bright as
// its edge.
[[nodiscard]] bool is_drawing(const Bitmap& bitmap);

// Whether a picture has colours that are none of light or paper: strong ones in a tenth of it.
[[nodiscard]] bool is_coloured(const Bitmap& bitmap);

// quickdraw-conv4 for drawings, resnet50 for anything else. Pictures that cannot be read have no
// say.
[[nodiscard]] BackboneChoice suitable_backbone(std::span<const Picture> pictures);

// The same, or a data error that says why an absent network was chosen, and what to do.
[[nodiscard]] BackboneChoice installed(BackboneChoice choice);

// Whether it has never seen colours.
[[nodiscard]] bool is_of_drawings(const std::string& backbone);

// Where most pictures have colours and the backbone is quickdraw-conv4, which has never seen any.
[[nodiscard]] std::optional<std::string> warning_of_colours(const std::string& backbone,
                                                            std::size_t coloured,
                                                            std::size_t pictures);

}  // namespace deepvoro
