#include "picture/bad_pictures.hpp"

#include <algorithm>

#include "deepvoro/core/error.hpp"

namespace deepvoro {

std::optional<Bitmap> BadPictures::read(const PictureCollection& collection, std::size_t i,
                                        std::size_t least_side) {
  try {
    return collection.read(i, {}, least_side);
  } catch (const Error& error) {
    if (policy_ == Policy::stop || error.kind() != ErrorKind::data) throw;
    const std::scoped_lock lock(guard_);
    const auto place = std::ranges::lower_bound(entries_, i, {}, &Entry::index);
    if (place == entries_.end() || place->index != i) entries_.insert(place, {i, error.what()});
    return std::nullopt;
  }
}

std::vector<BadPictures::Entry> BadPictures::list() const {
  const std::scoped_lock lock(guard_);
  return entries_;
}

}  // namespace deepvoro
