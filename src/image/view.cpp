#include "deepvoro/image/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "deepvoro/core/error.hpp"
#include "deepvoro/image/resize.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kPaperSize = 84;
constexpr std::size_t kLargestSize = 4096;
constexpr std::array<int, 4> kRotations{0, 90, 180, 270};
constexpr std::array<std::size_t, 8> kReleaseSizes{84, 90, 100, 110, 120, 130, 140, 150};
constexpr std::array<std::size_t, 8> kPaperSizes{84, 94, 104, 114, 124, 134, 144, 154};

std::size_t resized_side(const View& view, SizeRule rule) {
  // The product in double, as in the release: 1.15 * 100 is just below 115.
  return rule == SizeRule::paper ? view.size
                                 : static_cast<std::size_t>(1.15 * static_cast<double>(view.size));
}

// Takes `word` and the whole number after it off the front of `text`.
bool take(std::string_view& text, std::string_view word, std::size_t& number) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string name(const View& view) {
  return fmt::format("s{}_r{}_f{}", view.size, view.rotation, view.flip ? 1 : 0);
}

View view_named(const std::string& text) {
  std::string_view rest = text;
  std::size_t size = 0;
  std::size_t rotation = 0;
  std::size_t flip = 0;
  if (take(rest, "s", size) && take(rest, "_r", rotation) && take(rest, "_f", flip) &&
      rest.empty() && size <= kLargestSize && rotation < 360 && flip <= 1) {
    const View view{size, static_cast<int>(rotation), flip == 1};
    if (size > 0 && std::ranges::count(kRotations, view.rotation) == 1 && name(view) == text)
      return view;
  }
  throw usage_error(fmt::format(
      "'{}' is not a view; one looks like s84_r90_f1: size 1 to {}, rotation 0, 90, 180 or 270, "
      "flip 0 or 1",
      text, kLargestSize));
}

std::vector<View> all_views(SizeRule rule) {
  std::vector<View> views;
  for (const std::size_t size : rule == SizeRule::release ? kReleaseSizes : kPaperSizes)
    for (const int rotation : kRotations)
      for (const bool flip : {false, true}) views.push_back({size, rotation, flip});
  return views;
}

std::size_t seen_size(const View& view, SizeRule rule) {
  return rule == SizeRule::paper ? kPaperSize : view.size;
}

Image apply(const View& view, const Image& image, SizeRule rule) {
  if (std::ranges::count(kRotations, view.rotation) == 0)
    throw usage_error(
        fmt::format("a view is rotated by 0, 90, 180 or 270 degrees, not {}", view.rotation));
  const std::size_t side = resized_side(view, rule);
  const std::size_t seen = seen_size(view, rule);
  if (side < seen)
    throw usage_error(fmt::format("view {}: its size must be at least {}", name(view), seen));
  Image upright = central_crop(resized(image, side, side), seen, seen);
  Image turned = rotated(upright, view.rotation / 90);
  return view.flip ? flipped(turned) : turned;
}

}  // namespace deepvoro
