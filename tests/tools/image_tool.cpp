// Pictures through the library, for tests that compare them with Pillow's.
//   deepvoro_image_tool PICTURE [resize:W:H:bilinear|bicubic] [rotate:TURNS] [flip] [crop:W:H]
//                       [view:NAME:release|paper]...
//   deepvoro_image_tool --list COLLECTION [--skip-bad]
// The first applies the operations in turn and writes a binary PPM file to stdout; the second
// writes a line "label TAB class TAB name TAB width TAB height" a picture, then "sha256 TAB hash".
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "deepvoro/core/error.hpp"
#include "deepvoro/image/decode.hpp"
#include "deepvoro/image/view.hpp"
#include "image/bad_pictures.hpp"
#include "image/dataset.hpp"
#include "image/resize.hpp"

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

Image changed(const Image& image, const std::string& operation) {
  const std::vector<std::string> parts = split(operation);
  const std::string& what = parts[0];
  if (what == "resize")
    return resized(image, std::stoul(parts.at(1)), std::stoul(parts.at(2)),
                   parts.at(3) == "bicubic" ? Filter::bicubic : Filter::bilinear);
  if (what == "rotate") return rotated(image, std::stoi(parts.at(1)));
  if (what == "flip") return flipped(image);
  if (what == "crop") return central_crop(image, std::stoul(parts.at(1)), std::stoul(parts.at(2)));
  if (what == "view")
    return apply(view_named(parts.at(1)), image,
                 parts.at(2) == "paper" ? SizeRule::paper : SizeRule::release);
  throw usage_error(operation + ": unknown");
}

void write_picture(const std::vector<std::string>& arguments) {
  Image image = read_image(arguments.at(0));
  for (std::size_t i = 1; i < arguments.size(); ++i) image = changed(image, arguments[i]);
  fmt::print("P6\n{} {}\n255\n", image.width, image.height);
  std::fwrite(image.pixels.data(), 1, image.pixels.size(), stdout);
}

void list(const std::string& collection, bool skip) {
  const ImageDataset dataset = ImageDataset::open(collection);
  BadPictures bad(skip ? BadPictures::Policy::skip : BadPictures::Policy::stop);
  for (std::size_t i = 0; i < dataset.size(); ++i)
    if (const auto image = bad.read(dataset, i))
      fmt::print("{}\t{}\t{}\t{}\t{}\n", dataset.label(i), dataset.classes()[dataset.label(i)],
                 dataset.name(i), image->width, image->height);
  fmt::print("sha256\t{}\n", dataset.sha256());
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
