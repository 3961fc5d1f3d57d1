#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace deepvoro {

// The border of a cell, as closed polygons in pixels: a raster of labels made vectors, so that no
// stair steps are seen.
struct CellOutline {
  std::uint8_t label = 0;
  std::vector<std::vector<std::pair<double, double>>> loops;
};

// labels: [height x width], row by row from the top. Outlines of all labels that appear, by label.
[[nodiscard]] std::vector<CellOutline> cell_outlines(std::span<const std::uint8_t> labels,
                                                     std::size_t width, std::size_t height);

}  // namespace deepvoro
