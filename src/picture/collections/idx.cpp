#include <fmt/format.h>

#include <cstdint>
#include <span>

#include "deepvoro/core/error.hpp"
#include "deepvoro/picture/decode.hpp"
#include "picture_source.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kLabelsMagic = 0x0801;
constexpr std::uint32_t kImagesMagic = 0x0803;
constexpr std::size_t kLabelsHeader = 8;
constexpr std::size_t kImagesHeader = 16;

std::uint32_t number(const MappedFile& file, std::size_t place) {
  const auto bytes = file.bytes();
  if (bytes.size() < (place + 1) * 4)
    throw data_error(
        fmt::format("{}: is truncated within its header; copy it again", file.path().string()));
  std::uint32_t value = 0;
  for (const std::byte byte : bytes.subspan(place * 4, 4))
    value = value << 8U | std::to_integer<std::uint32_t>(byte);
  return value;
}

void replace(std::string& text, std::string_view old, std::string_view with) {
  const std::size_t at = text.find(old);
  if (at != std::string::npos) text.replace(at, old.size(), with);
}

// train-images-idx3-ubyte and train-labels-idx1-ubyte.
fs::path partner(const fs::path& file, bool is_images) {
  std::string name = file.filename().string();
  replace(name, is_images ? "images" : "labels", is_images ? "labels" : "images");
  replace(name, is_images ? "idx3" : "idx1", is_images ? "idx1" : "idx3");
  fs::path other = file.parent_path() / name;
  std::error_code ignored;
  if (name == file.filename().string() || !fs::exists(other, ignored))
    throw data_error(fmt::format(
        "{}: its {} are missing; name the two files ...images-idx3-ubyte and ...labels-idx1-ubyte",
        file.string(), is_images ? "labels" : "pictures"));
  return other;
}

void expect_size(const MappedFile& file, std::size_t expected) {
  if (file.bytes().size() != expected)
    throw data_error(fmt::format("{}: has {} bytes where its header says {}; copy it again",
                                 file.path().string(), file.bytes().size(), expected));
}

}  // namespace

PictureSource open_idx(const fs::path& images_or_labels) {
  MappedFile one(images_or_labels);
  const bool is_images = number(one, 0) == kImagesMagic;
  MappedFile other(partner(images_or_labels, is_images));
  MappedFile& images = is_images ? one : other;
  MappedFile& labels = is_images ? other : one;
  if (number(images, 0) != kImagesMagic || number(labels, 0) != kLabelsMagic)
    throw data_error(
        fmt::format("{}: is not the other half of {}", other.path().string(), one.path().string()));

  const std::size_t count = number(images, 1);
  const GreyShape shape{.width = number(images, 3), .height = number(images, 2)};
  const PictureLimits limits;
  if (shape.width == 0 || shape.height == 0 || shape.width > limits.most_side ||
      shape.height > limits.most_side || shape.width * shape.height > limits.most_pixels)
    throw data_error(fmt::format("{}: its pictures are {} x {} pixels, which is not possible",
                                 images.path().string(), shape.width, shape.height));
  const std::size_t bytes = shape.width * shape.height;
  expect_size(images, kImagesHeader + count * bytes);
  expect_size(labels, kLabelsHeader + number(labels, 1));
  if (number(labels, 1) != count)
    throw data_error(fmt::format("{}: has {} labels for {} pictures", labels.path().string(),
                                 number(labels, 1), count));

  PictureSource source{.origin = images.path(), .grey = shape};
  for (int label = 0; label < 256; ++label) source.classes.push_back(std::to_string(label));
  for (std::size_t i = 0; i < count; ++i)
    source.pictures.push_back(
        {.label = std::to_integer<std::size_t>(labels.bytes()[kLabelsHeader + i]),
         .file = std::to_string(i),
         .offset = kImagesHeader + i * bytes,
         .size = bytes});
  drop_empty_classes(source);
  source.containers.push_back(std::move(images));
  return source;
}

}  // namespace deepvoro
