// Pictures through the library, for tests that compare them with Pillow's.
//   deepvoro_picture_tool PICTURE [resize:W:H:bilinear|bicubic] [rotate:TURNS] [flip] [crop:W:H]
//                       [view:NAME:release|paper]...
//   deepvoro_picture_tool --list COLLECTION [--skip-bad]
// The first applies the operations in turn and writes a binary PPM file to stdout; the second
// writes a line "label TAB class TAB name TAB width TAB height" a picture, then "sha256 TAB hash".
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "deepvoro/core/error.hpp"
#include "deepvoro/picture/decode.hpp"
#include "deepvoro/picture/view.hpp"
#include "picture/bad_pictures.hpp"
#include "picture/collection.hpp"
#include "picture/resize.hpp"

namespace {

using namespace deepvoro;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == ':')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

Bitmap changed(const Bitmap& bitmap, const std::string& operation) {
  const std::vector<std::string> parts = split(operation);
  const std::string& what = parts[0];
  if (what == "resize")
    return resized(bitmap, std::stoul(parts.at(1)), std::stoul(parts.at(2)),
                   parts.at(3) == "bicubic" ? Filter::bicubic : Filter::bilinear);
  if (what == "rotate") return rotated(bitmap, std::stoi(parts.at(1)));
  if (what == "flip") return flipped(bitmap);
  if (what == "crop") return central_crop(bitmap, std::stoul(parts.at(1)), std::stoul(parts.at(2)));
  if (what == "view")
    return apply(view_named(parts.at(1)), bitmap,
                 parts.at(2) == "paper" ? SizeRule::paper : SizeRule::release);
  throw usage_error(operation + ": unknown");
}

void write_picture(const std::vector<std::string>& arguments) {
  Bitmap bitmap = read_bitmap(arguments.at(0));
  for (std::size_t i = 1; i < arguments.size(); ++i) bitmap = changed(bitmap, arguments[i]);
  fmt::print("P6\n{} {}\n255\n", bitmap.width, bitmap.height);
  std::fwrite(bitmap.pixels.data(), 1, bitmap.pixels.size(), stdout);
}

void list(const std::string& path, bool skip) {
  const PictureCollection collection = PictureCollection::open(path);
  BadPictures bad(skip ? BadPictures::Policy::skip : BadPictures::Policy::stop);
  for (std::size_t i = 0; i < collection.size(); ++i)
    if (const auto bitmap = bad.read(collection, i))
      fmt::print("{}\t{}\t{}\t{}\t{}\n", collection.label(i),
                 collection.classes()[collection.label(i)], collection.name(i), bitmap->width,
                 bitmap->height);
  fmt::print("sha256\t{}\n", collection.sha256());
  for (const auto& entry : bad.list()) fmt::print(stderr, "{}\n", entry.reason);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() > 1 && arguments[0] == "--list")
      list(arguments[1], arguments.size() > 2 && arguments[2] == "--skip-bad");
    else
      write_picture(arguments);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.kind() == ErrorKind::data ? 3 : 2;
  }
  return 0;
}
