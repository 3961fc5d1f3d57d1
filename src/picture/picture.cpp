#include "deepvoro/picture/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "collections/picture_source.hpp"
#include "core/sha256.hpp"
#include "core/text.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/picture/decode.hpp"
#include "picture/collection.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

Picture picture_of(std::string name, std::string where,
                   const std::function<Bitmap(std::size_t least_side)>& decode) {
  return {std::move(name), std::move(where), [decode] { return decode(kAllPixels); }, {}, decode};
}

Picture picture_in(const PictureCollection& collection, std::size_t i, std::string name) {
  return picture_of(std::move(name), collection.name(i), [collection, i](std::size_t least_side) {
    return collection.read(i, {}, least_side);
  });
}

Picture picture_from_file(const fs::path& file, std::string name) {
  Picture picture = picture_of(std::move(name), file.string(), [file](std::size_t least_side) {
    return read_bitmap(file, {}, least_side);
  });
  picture.file = file;
  return picture;
}

std::string short_hash(std::span<const std::byte> bytes) {
  constexpr std::size_t digits = 16;
  return sha256_hex(bytes).substr(0, digits);
}

std::string note_on(const std::vector<std::string>& pairs, const char* advice) {
  return fmt::format("{} are the same picture{}; {}", pairs.front(),
                     pairs.size() == 1
                         ? ""
                         : fmt::format(", and so {} {}", pairs.size() == 2 ? "is" : "are",
                                       counted(pairs.size() - 1, "other pair")),
                     advice);
}

// The same file in two classes cannot be right in both; twice in a class it counts twice.
std::vector<std::string> notes_on_doubles(const PictureCollection& collection) {
  std::map<std::size_t, std::size_t> of_size;
  for (std::size_t i = 0; i < collection.size(); ++i) ++of_size[collection.stored_size(i)];
  std::map<std::string, std::size_t> first;  // with this content
  std::vector<std::string> across;
  std::vector<std::string> within;
  for (std::size_t i = 0; i < collection.size(); ++i) {
    if (of_size[collection.stored_size(i)] == 1) continue;
    std::string hash;
    try {
      hash = sha256_hex(collection.raw(i));
    } catch (const Error&) {
      continue;  // told when it is read
    }
    const auto [earlier, is_new] = first.try_emplace(hash, i);
    if (is_new) continue;
    auto& pairs = collection.label(earlier->second) == collection.label(i) ? within : across;
    pairs.push_back(fmt::format("{} and {}", collection.name(earlier->second), collection.name(i)));
  }
  std::vector<std::string> notes;
  if (!across.empty()) notes.push_back(note_on(across, "remove it from the wrong class"));
  if (!within.empty()) notes.push_back(note_on(within, "it counts twice unless you remove one"));
  return notes;
}

}  // namespace

Picture picture_from_bytes(std::vector<std::byte> file, std::string name) {
  if (name.empty()) name = short_hash(file);
  const auto shared = std::make_shared<const std::vector<std::byte>>(std::move(file));
  return picture_of(name, name, [shared, name](std::size_t least_side) {
    return decode_picture(*shared, name, {}, least_side);
  });
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

Picture unreadable_picture(std::string where, const Error& why) {
  return {where, std::move(where), [why]() -> Bitmap { throw Error(why); }};
}

std::vector<Picture> pictures_at(const fs::path& path) {
  std::error_code unreadable;
  if (!fs::exists(path, unreadable))
    throw data_error(fmt::format("{}: there is no such file or folder", path.string()),
                     ErrorCode::missing_file);
  std::vector<Picture> pictures;
  const bool is_folder = fs::is_directory(path, unreadable);
  if (is_folder && !FolderContents(path).has_shards_alone()) {
    for (PicturePlace& place : open_unlabelled_folder(path).pictures)
      pictures.push_back(picture_from_file(place.path, std::move(place.file)));
    return pictures;
  }
  if (!is_folder && has_picture_name(path))
    return {picture_from_file(path, path.filename().string())};
  try {
    if (!is_folder && !is_archive(path)) return {picture_from_file(path, path.filename().string())};
    const auto collection = PictureCollection::open_unlabelled(path);
    for (std::size_t i = 0; i < collection.size(); ++i) {
      pictures.push_back(picture_in(collection, i, collection.name(i)));
      pictures.back().where = collection.where(i);
    }
  } catch (const Error& error) {
    return {unreadable_picture(path.string(), error)};
  }
  return pictures;
}

LabelledPictures labelled_pictures_at(const fs::path& path, ClassFolders folders) {
  const PictureCollection collection = PictureCollection::open(path, folders);
  LabelledPictures all{
      .classes = collection.classes(), .labels = {}, .pictures = {}, .notes = collection.notes()};
  for (std::string& note : notes_on_doubles(collection)) all.notes.push_back(std::move(note));
  for (std::size_t i = 0; i < collection.size(); ++i) {
    const std::string where = collection.name(i);
    const std::string folder = collection.classes()[collection.label(i)] + "/";
    all.labels.push_back(collection.label(i));
    all.pictures.push_back(
        picture_in(collection, i, where.starts_with(folder) ? where.substr(folder.size()) : where));
  }
  return all;
}

}  // namespace deepvoro
