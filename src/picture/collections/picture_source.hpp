#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "deepvoro/picture/picture.hpp"

namespace deepvoro {

// Where one picture is: in a file of its own, a part of a container of the collection, or in
// memory.
struct PicturePlace {
  std::size_t label = 0;
  std::string file;  // its name; below the folder of its class where there is one
  std::filesystem::path path;
  std::size_t container = 0;  // which, where there are any
  std::size_t offset = 0;
  std::size_t size = 0;
  std::shared_ptr<const std::vector<std::byte>> unpacked;
};

// Grey pixels without a header, as in an idx file.
struct GreyShape {
  std::size_t width = 0;
  std::size_t height = 0;
};

class PictureSource {
 public:
  std::filesystem::path origin;  // what was opened
  std::vector<std::string> classes;
  std::vector<PicturePlace> pictures;
  bool folder_per_class = false;
  std::vector<MappedFile> containers;
  std::optional<GreyShape> grey;
  std::vector<std::string> loose;  // pictures beside the folders of classes, which are not used
  std::vector<std::string> empty;  // folders with nothing in them, which are no classes
  std::string named_by_path;       // a class that is, because another folder has the same name
};

// What lies in a folder directly, each sorted by name; nothing where it cannot be read.
struct FolderContents {
  explicit FolderContents(std::filesystem::path the_folder);

  // Shards and nothing else that holds pictures.
  [[nodiscard]] bool has_shards_alone() const;

  std::filesystem::path folder;
  std::vector<std::string> folders;
  std::vector<std::string> pictures;
  std::vector<std::string> shards;             // .tar
  std::vector<std::string> compressed_shards;  // .tar.gz and others
};

[[nodiscard]] PictureSource open_folder(const std::filesystem::path& folder);
// A .tar, .tar.gz or .zip. What is not compressed stays where it lies, so a tar may be of any size;
// what is compressed is unpacked into memory.
// Where members that belong together by name say the class of a picture (SampleClasses), that
// counts, and folders do not.
[[nodiscard]] PictureSource open_archive(const std::filesystem::path& file);
// The .tar files of a folder, as one collection. Throws where some of a folder would be ignored: it
// has shards and something else that holds pictures.
void check_holds_shards_alone(const FolderContents& contents);
[[nodiscard]] PictureSource open_tar_shards(const FolderContents& contents);
// All pictures of a folder and below it, of an archive, or of shards, as one class.
inline constexpr const char* kUnlabelled = "unlabelled";
[[nodiscard]] PictureSource open_unlabelled_folder(const std::filesystem::path& folder);
[[nodiscard]] PictureSource open_unlabelled_archive(const std::filesystem::path& file);
[[nodiscard]] PictureSource open_unlabelled_shards(const FolderContents& contents);
[[nodiscard]] PictureSource open_json(const std::filesystem::path& file);
[[nodiscard]] PictureSource open_csv(const std::filesystem::path& file);
[[nodiscard]] PictureSource open_idx(const std::filesystem::path& images_or_labels);

// Files and folders that systems put beside those of people: hidden ones, and __MACOSX.
[[nodiscard]] bool is_passed_over(std::string_view name);

// Whether a file is taken for a picture: not hidden, and an ending that pictures have. Endings of
// formats that cannot be read count too, so that such a picture is reported and not passed over.
[[nodiscard]] bool has_picture_name(const std::filesystem::path& file);

// Pictures of a tree, each with its class: sorted by class, then by name.
struct ClassifiedPicture {
  std::string class_name;
  PicturePlace picture;
};
void take_sorted(std::vector<ClassifiedPicture> found, PictureSource& source);

// Throws where the folders of classes are a folder deeper: in those of a training and a test set.
void check_are_classes(const PictureSource& source, ClassFolders folders);

// Makes every folder that holds pictures a class of its own, called by its own name, or by its path
// where two have the same name.
void take_inner_folders(PictureSource& source);

// The first few names, for a line of text.
[[nodiscard]] std::string some_of(const std::vector<std::string>& names);

// What a person may not have meant: folders within the folder of a class, pictures beside those.
[[nodiscard]] std::vector<std::string> notes_on(const PictureSource& source);

// Leaves out classes without pictures, keeping the order of the others.
void drop_empty_classes(PictureSource& source);

// Throws where a collection is empty, or a name is not UTF-8 text on one line, or a class is there
// twice.
void check_names(const PictureSource& source);

}  // namespace deepvoro
