#include "deepvoro/picture/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "deepvoro/core/error.hpp"
#include "picture/resize.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kPaperSize = 84;
constexpr std::size_t kLargestSize = 4096;
constexpr std::array<int, 4> kRotations{0, 90, 180, 270};
constexpr std::array<std::size_t, 8> kReleaseSizes{84, 90, 100, 110, 120, 130, 140, 150};
constexpr std::array<std::size_t, 8> kPaperSizes{84, 94, 104, 114, 124, 134, 144, 154};

// Takes `word` and the whole number after it off the front of `text`.
bool take(std::string_view& text, std::string_view word, std::size_t& number) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// Sizes close to the one that a network was trained on give members of nearly the same accuracy and
// with other mistakes; larger ones are much weaker (docs/METHODS.md, classifier).
std::vector<View> four_close_views(SizeRule rule, std::size_t first_size) {
  const std::size_t step = std::max<std::size_t>(first_size / 14, 1);
  const std::size_t close = rule == SizeRule::release ? first_size - step : first_size + step;
  return {{first_size, 0, false}, {first_size, 0, true}, {close, 0, false}, {close, 0, true}};
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

std::size_t resized_size(const View& view, SizeRule rule) {
  // The product in double, as in the release: 1.15 * 100 is just below 115.
  return rule == SizeRule::paper ? view.size
                                 : static_cast<std::size_t>(1.15 * static_cast<double>(view.size));
}

std::size_t seen_size(const View& view, SizeRule rule) {
  return rule == SizeRule::paper ? kPaperSize : view.size;
}

void check_number_of_views(const std::string& text) {
  constexpr std::array<std::string_view, 5> numbers{"1", "4", "8", "16", "64"};
  const bool has_names = text.find_first_not_of("0123456789, ") != std::string::npos;
  if (has_names || std::ranges::find(numbers, text) != numbers.end()) return;
  throw usage_error(
      fmt::format("`views`: '{}' is not a number of views; use 1, 4, 8, 16 or 64, or names "
                  "separated by commas, as in s84_r0_f0,s84_r0_f1",
                  text));
}

std::vector<View> parse_views(const std::string& text, SizeRule rule, std::size_t first_size) {
  check_number_of_views(text);
  if (text == "4") return four_close_views(rule, first_size);
  std::vector<View> views;
  const std::vector<View> all = all_views(rule);
  if (text == "64" || text == "16" || text == "8" || text == "1") {
    const std::size_t first = all.front().size;
    for (View view : all) {
      if (text == "16" && view.rotation != 0) continue;
      if (text == "8" && view.size != first) continue;
      if (text == "1" && view != all.front()) continue;
      view.size = view.size * first_size / first;
      views.push_back(view);
    }
    return views;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    views.push_back(view_named(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return views;
}

Bitmap apply(const View& view, const Bitmap& bitmap, SizeRule rule) {
  if (std::ranges::count(kRotations, view.rotation) == 0)
    throw usage_error(
        fmt::format("a view is rotated by 0, 90, 180 or 270 degrees, not {}", view.rotation));
  const std::size_t side = resized_size(view, rule);
  const std::size_t seen = seen_size(view, rule);
  if (side < seen)
    throw usage_error(fmt::format("view {}: its size must be at least {}", name(view), seen));
  Bitmap upright = central_crop(resized(bitmap, side, side), seen, seen);
  Bitmap turned = rotated(upright, view.rotation / 90);
  return view.flip ? flipped(turned) : turned;
}

}  // namespace deepvoro
