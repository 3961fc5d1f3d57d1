#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "picture/collection.hpp"

namespace deepvoro {

// What happens to pictures that cannot be read: they end the work, or they are skipped and listed.
// Any number of threads may use one at the same time.
class BadPictures {
 public:
  enum class Policy { stop, skip };
  struct Entry {
    std::size_t index = 0;
    std::string reason;  // begins with the name of the picture
  };

  explicit BadPictures(Policy policy) : policy_(policy) {}

  // The picture, or nothing where it is bad and to be skipped.
  [[nodiscard]] std::optional<Bitmap> read(const PictureCollection& collection, std::size_t i,
                                           std::size_t least_side = kAllPixels);

  [[nodiscard]] std::vector<Entry> list() const;  // by index, each once

 private:
  Policy policy_;
  mutable std::mutex guard_;
  std::vector<Entry> entries_;
};

}  // namespace deepvoro
