#include "deepvoro/picture/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "collections/picture_source.hpp"
#include "core/sha256.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/picture/decode.hpp"
#include "picture/collection.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

Picture picture_from_file(const fs::path& file, std::string name) {
  return {std::move(name), file.string(), [file] { return read_bitmap(file); }, file};
}

std::string short_hash(std::span<const std::byte> bytes) {
  constexpr std::size_t digits = 16;
  return sha256_hex(bytes).substr(0, digits);
}

// The same file in two classes cannot be right in both.
std::optional<std::string> note_on_doubles(const PictureCollection& collection) {
  std::map<std::size_t, std::size_t> of_size;
  for (std::size_t i = 0; i < collection.size(); ++i) ++of_size[collection.stored_size(i)];
  std::map<std::string, std::size_t> first;  // with this content
  std::vector<std::string> doubles;
  for (std::size_t i = 0; i < collection.size(); ++i) {
    if (of_size[collection.stored_size(i)] == 1) continue;
    std::string hash;
    try {
      hash = sha256_hex(collection.raw(i));
    } catch (const Error&) {
      continue;  // told when it is read
    }
    const auto [earlier, is_new] = first.try_emplace(hash, i);
    if (!is_new && collection.label(earlier->second) != collection.label(i))
      doubles.push_back(
          fmt::format("{} and {}", collection.name(earlier->second), collection.name(i)));
  }
  if (doubles.empty()) return std::nullopt;
  return fmt::format(
      "{} are the same picture{}; remove it from the wrong class", doubles.front(),
      doubles.size() == 1 ? "" : fmt::format(", and so are {} more pairs", doubles.size() - 1));
}

}  // namespace

Picture picture_from_bytes(std::vector<std::byte> file, std::string name) {
  if (name.empty()) name = short_hash(file);
  const auto shared = std::make_shared<const std::vector<std::byte>>(std::move(file));
  return {name, name, [shared, name] { return decode_picture(*shared, name); }};
}

Picture picture_from_pixels(Bitmap pixels, std::string name) {
  if (pixels.width == 0 || pixels.height == 0 ||
      pixels.pixels.size() != pixels.width * pixels.height * 3)
    throw usage_error(
        fmt::format("a picture of {} x {} pixels has {} bytes; three per pixel are needed",
                    pixels.width, pixels.height, pixels.pixels.size()));
  if (name.empty())
    name = fmt::format("{}x{}-{}", pixels.width, pixels.height,
                       short_hash(std::as_bytes(std::span(pixels.pixels))));
  const auto shared = std::make_shared<const Bitmap>(std::move(pixels));
  return {name, name, [shared] { return *shared; }};
}

std::vector<Picture> pictures_at(const fs::path& path) {
  std::error_code unreadable;
  if (!fs::exists(path, unreadable))
    throw data_error(fmt::format("{}: there is no such file or folder", path.string()),
                     ErrorCode::missing_file);
  if (!fs::is_directory(path, unreadable))
    return {picture_from_file(path, path.filename().string())};
  std::vector<Picture> pictures;
  try {
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (has_picture_name(entry.path()) && !entry.is_directory())
        pictures.push_back(picture_from_file(
            entry.path(), entry.path().lexically_relative(path).generic_string()));
  } catch (const fs::filesystem_error& error) {
    throw data_error(
        fmt::format("{}: cannot be read: {}", error.path1().string(), error.code().message()));
  }
  if (pictures.empty())
    throw data_error(
        fmt::format("{}: contains no pictures (.jpg, .png, .webp, .heic, .tif and others), not "
                    "even in subfolders",
                    path.string()));
  std::ranges::sort(pictures, {}, &Picture::name);
  return pictures;
}

LabelledPictures labelled_pictures_at(const fs::path& path, ClassFolders folders) {
  const PictureCollection collection = PictureCollection::open(path, folders);
  LabelledPictures all{
      .classes = collection.classes(), .labels = {}, .pictures = {}, .notes = collection.notes()};
  if (const auto note = note_on_doubles(collection)) all.notes.push_back(*note);
  for (std::size_t i = 0; i < collection.size(); ++i) {
    const std::string where = collection.name(i);
    const std::string folder = collection.classes()[collection.label(i)] + "/";
    all.labels.push_back(collection.label(i));
    all.pictures.push_back({where.starts_with(folder) ? where.substr(folder.size()) : where, where,
                            [collection, i] { return collection.read(i); }});
  }
  return all;
}

}  // namespace deepvoro
