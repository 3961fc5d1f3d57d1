#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "deepvoro/core/error.hpp"
#include "deepvoro/core/export.hpp"
#include "deepvoro/picture/bitmap.hpp"

namespace deepvoro {

// A picture that is read when it is asked for, by any thread.
struct Picture {
  std::string name;   // what it is called in a class
  std::string where;  // what a user would call it
  std::function<Bitmap()> read;
  std::filesystem::path file = {};  // if it is one
  // With fewer pixels where that is quicker, as decode_picture(); `read` serves where it is empty.
  std::function<Bitmap(std::size_t least_side)> read_reduced = {};
};

// The bytes of a picture's file, or pixels. Without a name it is called by the hash of what it
// shows, so the same picture has the same name whenever it comes.
[[nodiscard]] DEEPVORO_API Picture picture_from_bytes(std::vector<std::byte> file,
                                                      std::string name = {});
[[nodiscard]] DEEPVORO_API Picture picture_from_pixels(Bitmap pixels, std::string name = {});

// One that cannot be read, such as a file that is missing: whoever reads it gets this error.
[[nodiscard]] DEEPVORO_API Picture unreadable_picture(std::string where, const Error& why);

// A picture file, or all those in a folder and below it or in a .zip or .tar, by name. A picture is
// called by its path below the folder.
[[nodiscard]] DEEPVORO_API std::vector<Picture> pictures_at(const std::filesystem::path& path);

// Pictures with a class each.
struct LabelledPictures {
  std::vector<std::string> classes;  // names
  std::vector<std::size_t> labels;   // [pictures], index into classes
  std::vector<Picture> pictures;
  // What a person may not have meant: folders that count as one class, pictures that are not used,
  // the same picture twice.
  std::vector<std::string> notes = {};
};

// Where folders have folders in them, the classes are the outer ones or those that hold pictures.
enum class ClassFolders { outer, inner };

// Those of a collection: a folder with a folder per class, an archive of one, and others
// (docs/FORMATS.md).
[[nodiscard]] DEEPVORO_API LabelledPictures labelled_pictures_at(
    const std::filesystem::path& collection, ClassFolders folders = ClassFolders::outer);

}  // namespace deepvoro
