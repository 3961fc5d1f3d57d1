#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "deepvoro/picture/bitmap.hpp"
#include "deepvoro/picture/decode.hpp"
#include "deepvoro/picture/picture.hpp"

namespace deepvoro {

class PictureSource;

// By its first bytes: a tar, a zip, or what a tar may be compressed with.
[[nodiscard]] bool is_archive(const std::filesystem::path& file);

// A collection of pictures with a class each; docs/FORMATS.md lists what can be opened. Pictures
// are read when asked for. Any number of threads may read at the same time; copies are cheap.
class PictureCollection {
 public:
  // Told apart by content: a folder of a folder per class, a .tar, .tar.gz or .zip of one, a
  // CloserLook/S2M2 JSON file, a mini-ImageNet CSV split, a file of an idx pair.
  [[nodiscard]] static PictureCollection open(const std::filesystem::path& path,
                                              ClassFolders folders = ClassFolders::outer);

  // All pictures of a folder and below it, or of an archive, as the one class "unlabelled".
  [[nodiscard]] static PictureCollection open_unlabelled(const std::filesystem::path& path);

  [[nodiscard]] const std::vector<std::string>& classes() const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::size_t label(std::size_t i) const;
  [[nodiscard]] std::string name(std::size_t i) const;   // within the collection
  [[nodiscard]] std::string where(std::size_t i) const;  // a path, if need be into an archive
  [[nodiscard]] Bitmap read(std::size_t i, const PictureLimits& limits = {},
                            std::size_t least_side = kAllPixels) const;
  [[nodiscard]] std::vector<std::byte> raw(std::size_t i) const;  // as stored
  [[nodiscard]] std::size_t stored_size(std::size_t i) const;     // 0 where it cannot be read

  // What a person may not have meant: folders that count as one class, pictures that are not used.
  [[nodiscard]] std::vector<std::string> notes() const;

  // That of the lines of all pictures.
  [[nodiscard]] std::string sha256() const;
  // One line "<SHA-256 of the picture>  <class>/<file>" a picture, from `begin` to before `end`. A
  // picture that cannot be read has "unreadable" in place of its hash.
  [[nodiscard]] std::string sha256_lines(std::size_t begin, std::size_t end) const;

 private:
  explicit PictureCollection(std::shared_ptr<const PictureSource> source);

  std::shared_ptr<const PictureSource> source_;
};

}  // namespace deepvoro
