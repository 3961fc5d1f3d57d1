#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "deepvoro/backbone/embedder.hpp"
#include "picture/collection.hpp"

namespace deepvoro {

struct BadPicture {
  std::string name;
  std::string reason;
};

// The pictures of one split that can be used. Decoded ones are kept for the next view as long as
// they fit into what all splits have in common.
class SplitPictures {
 public:
  SplitPictures(const std::filesystem::path& collection, ClassFolders folders,
                std::size_t least_side, std::atomic<std::int64_t>& cache_bytes_left);

  [[nodiscard]] const PictureCollection& collection() const { return collection_; }
  [[nodiscard]] std::size_t size() const { return usable_.size(); }
  [[nodiscard]] const std::vector<BadPicture>& bad() const { return bad_; }

  // By row: pictures that are left out have none.
  [[nodiscard]] std::int64_t label(std::size_t row) const {
    return static_cast<std::int64_t>(collection_.label(usable_[row]));
  }
  [[nodiscard]] std::string name(std::size_t row) const { return collection_.name(usable_[row]); }
  // Rows from `begin` to before `end`. Refers to this.
  [[nodiscard]] PictureList list(std::size_t begin, std::size_t end);
  // What the hash of the collection is of: the lines of these rows, and of what is left out behind
  // them, or before the first.
  [[nodiscard]] std::string sha256_lines(std::size_t begin, std::size_t end) const;
  // Of all that rows mean: classes, labels and names, not what is in the pictures.
  [[nodiscard]] std::string listing_sha256() const;

  // Tries them all, and leaves out those that cannot be read.
  void leave_out_bad(unsigned threads);
  void leave_out(std::vector<BadPicture> bad);

  // As for larger views. To be called before pictures are read.
  void keep_side(std::size_t least_side) { least_side_ = least_side; }

  // Decoded pictures of rows that are done with.
  void forget(std::size_t begin, std::size_t end);

 private:
  [[nodiscard]] std::shared_ptr<const Bitmap> read(std::size_t i);
  void keep(std::size_t i, std::shared_ptr<const Bitmap> bitmap);

  PictureCollection collection_;
  std::size_t least_side_;  // for decode_picture()
  std::vector<std::size_t> usable_;
  std::vector<BadPicture> bad_;
  std::vector<std::shared_ptr<const Bitmap>> cache_;
  std::atomic<std::int64_t>& cache_bytes_left_;
};

}  // namespace deepvoro
