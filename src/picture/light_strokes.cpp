#include "light_strokes.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "resize.hpp"

namespace deepvoro {
namespace {

constexpr int kDarkestPaper = 96;
constexpr std::size_t kFrame = 128;
constexpr std::size_t kDrawn = kFrame * 7 / 8;
// So much darker than the paper around it ink begins, and so much more is black.
constexpr int kFaintest = 24;
constexpr int kFaintToBlack = 48;

struct Sheet {
  std::size_t columns = 0;
  std::size_t rows = 0;
  std::vector<int> levels;

  [[nodiscard]] int at(std::size_t x, std::size_t y) const { return levels[y * columns + x]; }
};

Sheet grey_sheet(const Bitmap& bitmap) {
  Sheet sheet{bitmap.width, bitmap.height, std::vector<int>(bitmap.width * bitmap.height)};
  const std::uint8_t* pixel = bitmap.pixels.data();
  for (int& level : sheet.levels) {
    level = (299 * pixel[0] + 587 * pixel[1] + 114 * pixel[2] + 500) / 1000;
    pixel += kChannels;
  }
  return sheet;
}

// One that is small enough to be looked at quickly, in the picture's proportions.
Bitmap reduced(const Bitmap& picture) {
  const std::size_t longest = std::max(picture.width, picture.height);
  if (longest <= kLargestSheet) return picture;
  const auto side = [&](std::size_t length) {
    return std::max<std::size_t>(1, (length * kLargestSheet + longest / 2) / longest);
  };
  return resized(picture, side(picture.width), side(picture.height));
}

int edge_median(const Sheet& sheet) {
  std::vector<int> edge;
  for (std::size_t y = 0; y < sheet.rows; ++y) {
    const bool is_whole = y == 0 || y + 1 == sheet.rows;
    const std::size_t step = is_whole ? 1 : std::max<std::size_t>(1, sheet.columns - 1);
    for (std::size_t x = 0; x < sheet.columns; x += step) edge.push_back(sheet.at(x, y));
  }
  const auto middle = edge.begin() + static_cast<std::ptrdiff_t>(edge.size() / 2);
  std::ranges::nth_element(edge, middle);
  return *middle;
}

// Sums over all that is above and left, so that those of squares take four of them.
class SquareMeans {
 public:
  SquareMeans(const Sheet& sheet, std::size_t radius)
      : columns_(sheet.columns),
        rows_(sheet.rows),
        radius_(radius),
        sums_((columns_ + 1) * (rows_ + 1)) {
    for (std::size_t y = 0; y < rows_; ++y) {
      std::int64_t line = 0;
      for (std::size_t x = 0; x < columns_; ++x) {
        line += sheet.at(x, y);
        sums_[(y + 1) * (columns_ + 1) + x + 1] = sum_at(x + 1, y) + line;
      }
    }
  }

  [[nodiscard]] int at(std::size_t x, std::size_t y) const {
    const std::size_t left = x - std::min(x, radius_);
    const std::size_t top = y - std::min(y, radius_);
    const std::size_t right = std::min(columns_, x + radius_ + 1);
    const std::size_t bottom = std::min(rows_, y + radius_ + 1);
    const std::int64_t sum =
        sum_at(right, bottom) - sum_at(right, top) - sum_at(left, bottom) + sum_at(left, top);
    return static_cast<int>(sum / static_cast<std::int64_t>((right - left) * (bottom - top)));
  }

 private:
  [[nodiscard]] std::int64_t sum_at(std::size_t x, std::size_t y) const {
    return sums_[y * (columns_ + 1) + x];
  }

  std::size_t columns_;
  std::size_t rows_;
  std::size_t radius_;
  std::vector<std::int64_t> sums_;
};

// What is darker than the paper around it: light falls unevenly on paper, so each place has its own
// white.
Bitmap inked(const Sheet& sheet) {
  constexpr std::size_t smallest_radius = 8;
  const std::size_t radius =
      std::max(smallest_radius, (std::max(sheet.columns, sheet.rows) + 4) / 8);
  const SquareMeans paper(sheet, radius);
  Bitmap ink{sheet.columns, sheet.rows, {}};
  ink.pixels.reserve(sheet.levels.size() * kChannels);
  for (std::size_t y = 0; y < sheet.rows; ++y)
    for (std::size_t x = 0; x < sheet.columns; ++x) {
      const int darker = paper.at(x, y) - sheet.at(x, y) - kFaintest;
      const int level = std::clamp(darker * 255 / kFaintToBlack, 0, 255);
      ink.pixels.insert(ink.pixels.end(), kChannels, static_cast<std::uint8_t>(level));
    }
  return ink;
}

// Without what is empty around it; nothing where all is.
std::optional<Bitmap> without_margins(const Bitmap& ink) {
  constexpr std::uint8_t drawn = 128;
  std::size_t left = ink.width;
  std::size_t right = 0;
  std::size_t top = ink.height;
  std::size_t bottom = 0;
  for (std::size_t y = 0; y < ink.height; ++y)
    for (std::size_t x = 0; x < ink.width; ++x) {
      if (ink.pixels[(y * ink.width + x) * kChannels] < drawn) continue;
      left = std::min(left, x);
      right = std::max(right, x + 1);
      top = std::min(top, y);
      bottom = std::max(bottom, y + 1);
    }
  if (right == 0) return std::nullopt;
  return cropped(ink, left, top, right - left, bottom - top);
}

Bitmap framed(const Bitmap& drawing) {
  const std::size_t longest = std::max(drawing.width, drawing.height);
  const auto side = [&](std::size_t length) {
    return std::max<std::size_t>(1, (length * kDrawn + longest / 2) / longest);
  };
  const Bitmap inner = resized(drawing, side(drawing.width), side(drawing.height));
  Bitmap frame{kFrame, kFrame, std::vector<std::uint8_t>(kFrame * kFrame * kChannels)};
  const std::size_t left = (kFrame - inner.width) / 2;
  const std::size_t top = (kFrame - inner.height) / 2;
  for (std::size_t y = 0; y < inner.height; ++y)
    std::copy_n(inner.pixels.data() + y * inner.width * kChannels, inner.width * kChannels,
                frame.pixels.data() + ((top + y) * kFrame + left) * kChannels);
  return frame;
}

}  // namespace

int edge_level(const Bitmap& picture) {
  return edge_median(grey_sheet(picture));
}

std::optional<Bitmap> light_strokes(const Bitmap& picture) {
  const Sheet sheet = grey_sheet(reduced(picture));
  if (edge_median(sheet) < kDarkestPaper) return std::nullopt;
  const std::optional<Bitmap> drawing = without_margins(inked(sheet));
  if (!drawing) return std::nullopt;
  return framed(*drawing);
}

}  // namespace deepvoro
