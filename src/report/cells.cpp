#include "report/cells.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace deepvoro {
namespace {

using Corner = std::pair<double, double>;
using Loop = std::vector<Corner>;

// Pixels that a smooth line may be from a straight one to be left out.
constexpr double kTolerance = 0.35;
// As much as takes the steps out of a border, and no corner that the eye would miss.
constexpr int kSmoothings = 16;
// Points of a border at each end that are left out: a junction lies on a corner of a pixel, up to
// half of one away from where the smooth border would end, and the way there must not be short.
constexpr std::size_t kPointsToJunction = 16;

double distance_to_segment(const Corner& point, const Corner& a, const Corner& b) {
  const double dx = b.first - a.first;
  const double dy = b.second - a.second;
  const double squared = dx * dx + dy * dy;
  const double along =
      squared == 0
          ? 0
          : std::clamp(((point.first - a.first) * dx + (point.second - a.second) * dy) / squared,
                       0.0, 1.0);
  return std::hypot(point.first - a.first - along * dx, point.second - a.second - along * dy);
}

// Douglas and Peucker, with a stack of its own: a border may be long.
Loop simplified_line(const Loop& line) {
  std::vector<bool> kept(line.size());
  kept.front() = kept.back() = true;
  std::vector<std::pair<std::size_t, std::size_t>> open{{0, line.size() - 1}};
  while (!open.empty()) {
    const auto [begin, end] = open.back();
    open.pop_back();
    double farthest = kTolerance;
    std::size_t at = 0;
    for (std::size_t i = begin + 1; i < end; ++i) {
      const double distance = distance_to_segment(line[i], line[begin], line[end]);
      if (distance > farthest) {
        farthest = distance;
        at = i;
      }
    }
    if (at == 0) continue;
    kept[at] = true;
    open.emplace_back(begin, at);
    open.emplace_back(at, end);
  }
  Loop result;
  for (std::size_t i = 0; i < line.size(); ++i)
    if (kept[i]) result.push_back(line[i]);
  return result;
}

// The ends stay where they are, so that borders still meet.
Loop smoothed(Loop line) {
  for (int i = 0; i < kSmoothings; ++i) {
    Corner before = line.front();
    for (std::size_t c = 1; c + 1 < line.size(); ++c) {
      const Corner here = line[c];
      line[c] = {(before.first + 2 * here.first + line[c + 1].first) / 4,
                 (before.second + 2 * here.second + line[c + 1].second) / 4};
      before = here;
    }
  }
  return line;
}

Loop without_hooks(Loop line) {
  const auto left_out = static_cast<std::ptrdiff_t>(std::min(kPointsToJunction, line.size() / 5));
  line.erase(line.end() - 1 - left_out, line.end() - 1);
  line.erase(line.begin() + 1, line.begin() + 1 + left_out);
  return line;
}

// Both cells of a border make the same line of it, though they walk along it in opposite
// directions.
Loop drawn(Loop border) {
  const bool is_reversed =
      border.back() < border.front() || (border.back() == border.front() && border.size() > 2 &&
                                         border[border.size() - 2] < border[1]);
  if (is_reversed) std::ranges::reverse(border);
  const bool is_closed = border.back() == border.front();
  border = smoothed(std::move(border));
  if (!is_closed) border = without_hooks(std::move(border));
  border = simplified_line(border);
  if (is_reversed) std::ranges::reverse(border);
  return border;
}

// A corner of a loop between pixels: where more than two cells meet it has to stay.
struct Step {
  Corner corner;
  Corner midpoint;  // of the edge that follows
  bool is_junction = false;
};

Loop drawn_loop(std::vector<Step> steps) {
  auto start = std::ranges::find_if(steps, &Step::is_junction);
  if (start == steps.end()) start = std::ranges::min_element(steps, {}, &Step::midpoint);
  std::rotate(steps.begin(), start, steps.end());
  const bool has_junctions = steps.front().is_junction;
  Loop loop;
  Loop border;
  const auto finish = [&] {
    const Loop line = drawn(std::move(border));
    loop.insert(loop.end(), line.begin(), line.end() - 1);
    border.clear();
  };
  for (const Step& step : steps) {
    if (step.is_junction) {
      if (!border.empty()) {
        border.push_back(step.corner);
        finish();
      }
      border.push_back(step.corner);
    }
    border.push_back(step.midpoint);
  }
  border.push_back(has_junctions ? steps.front().corner : steps.front().midpoint);
  finish();
  return loop;
}

// Walks along the edges between pixels of one label and all others, which stay on the left.
class Tracer {
 public:
  Tracer(std::span<const std::uint8_t> labels, std::size_t width, std::size_t height)
      : labels_(labels), width_(width), height_(height), outgoing_((width + 1) * (height + 1)) {}

  std::vector<Loop> trace(std::uint8_t label) {
    for (std::size_t y = 0; y < height_; ++y)
      for (std::size_t x = 0; x < width_; ++x)
        if (labels_[y * width_ + x] == label) mark_edges(x, y, label);
    std::vector<Loop> loops;
    for (std::size_t start = 0; start < outgoing_.size(); ++start)
      while (outgoing_[start] != 0) loops.push_back(drawn_loop(follow(start)));
    return loops;
  }

 private:
  // Directions in the order of left turns: right, up, left, down.
  enum Direction : std::uint8_t { right, up, left, down };

  void mark(std::size_t x, std::size_t y, Direction direction) {
    outgoing_[y * (width_ + 1) + x] |= static_cast<std::uint8_t>(1U << direction);
  }

  void mark_edges(std::size_t x, std::size_t y, std::uint8_t label) {
    const auto column = static_cast<std::ptrdiff_t>(x);
    const auto row = static_cast<std::ptrdiff_t>(y);
    if (label_at(column, row + 1) != label) mark(x, y + 1, right);
    if (label_at(column + 1, row) != label) mark(x + 1, y + 1, up);
    if (label_at(column, row - 1) != label) mark(x + 1, y, left);
    if (label_at(column - 1, row) != label) mark(x, y, down);
  }

  // -1 outside.
  [[nodiscard]] int label_at(std::ptrdiff_t x, std::ptrdiff_t y) const {
    if (x < 0 || y < 0 || std::cmp_greater_equal(x, width_) || std::cmp_greater_equal(y, height_))
      return -1;
    return labels_[static_cast<std::size_t>(y) * width_ + static_cast<std::size_t>(x)];
  }

  // Whether more than two cells meet in a corner of pixels, or two across; and the corners of the
  // picture.
  [[nodiscard]] bool is_junction(std::ptrdiff_t x, std::ptrdiff_t y) const {
    const std::array<int, 4> around{label_at(x - 1, y - 1), label_at(x, y - 1), label_at(x, y),
                                    label_at(x - 1, y)};
    std::size_t changes = 0;
    for (std::size_t i = 0; i < 4; ++i) changes += around[i] != around[(i + 1) % 4] ? 1U : 0U;
    return changes > 2 || std::ranges::count(around, -1) == 3;
  }

  [[nodiscard]] bool leaves(std::size_t vertex, std::size_t direction) const {
    return (static_cast<unsigned>(outgoing_[vertex]) >> direction & 1U) != 0;
  }

  std::vector<Step> follow(std::size_t start) {
    constexpr std::array<std::pair<int, int>, 4> steps{{{1, 0}, {0, -1}, {-1, 0}, {0, 1}}};
    std::vector<Step> loop;
    std::size_t vertex = start;
    std::size_t direction = 0;
    while (!leaves(vertex, direction)) ++direction;
    do {
      outgoing_[vertex] &= static_cast<std::uint8_t>(~(1U << direction));
      const auto [dx, dy] = steps[direction];
      const auto x = static_cast<std::ptrdiff_t>(vertex % (width_ + 1));
      const auto y = static_cast<std::ptrdiff_t>(vertex / (width_ + 1));
      const Corner corner(static_cast<double>(x), static_cast<double>(y));
      loop.push_back(
          {corner, {corner.first + dx * 0.5, corner.second + dy * 0.5}, is_junction(x, y)});
      vertex = static_cast<std::size_t>(y + dy) * (width_ + 1) + static_cast<std::size_t>(x + dx);
      // Left first, so that pixels that touch at a corner are two cells.
      for (const std::size_t turn : {1U, 0U, 3U}) {
        const std::size_t next = (direction + turn) % 4;
        if (leaves(vertex, next)) {
          direction = next;
          break;
        }
      }
    } while (leaves(vertex, direction));
    return loop;
  }

  std::span<const std::uint8_t> labels_;
  std::size_t width_;
  std::size_t height_;
  std::vector<std::uint8_t> outgoing_;  // a bit for each direction of the edges that leave a corner
};

}  // namespace

std::vector<CellOutline> cell_outlines(std::span<const std::uint8_t> labels, std::size_t width,
                                       std::size_t height) {
  std::array<bool, 256> appears{};
  for (const std::uint8_t label : labels) appears[label] = true;
  Tracer tracer(labels, width, height);
  std::vector<CellOutline> outlines;
  for (std::size_t label = 0; label < appears.size(); ++label)
    if (appears[label])
      outlines.push_back({.label = static_cast<std::uint8_t>(label),
                          .loops = tracer.trace(static_cast<std::uint8_t>(label))});
  return outlines;
}

}  // namespace deepvoro
