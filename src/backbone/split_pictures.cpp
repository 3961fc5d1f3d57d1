#include "backbone/split_pictures.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "backbone/collections.hpp"
#include "core/sha256.hpp"
#include "deepvoro/core/parallel.hpp"
#include "picture/bad_pictures.hpp"

namespace deepvoro {

SplitPictures::SplitPictures(const std::filesystem::path& collection, ClassFolders folders,
                             std::size_t least_side, std::atomic<std::int64_t>& cache_bytes_left)
    : collection_(open_collection(collection, folders)),
      least_side_(least_side),
      cache_(collection_.size()),
      cache_bytes_left_(cache_bytes_left) {
  for (std::size_t i = 0; i < collection_.size(); ++i) usable_.push_back(i);
}

PictureList SplitPictures::list(std::size_t begin, std::size_t end) {
  return {.size = end - begin,
          .read = [this, begin](std::size_t row) { return read(usable_[begin + row]); },
          .where = [this, begin](std::size_t row) { return name(begin + row); }};
}

std::string SplitPictures::sha256_lines(std::size_t begin, std::size_t end) const {
  return collection_.sha256_lines(begin == 0 ? 0 : usable_[begin],
                                  end == size() ? collection_.size() : usable_[end]);
}

std::string SplitPictures::listing_sha256() const {
  Sha256 sum;
  for (const std::string& name : collection_.classes()) sum.add(name + "\n");
  for (std::size_t row = 0; row < size(); ++row)
    sum.add(
        fmt::format("{} {} {}\n", label(row), collection_.stored_size(usable_[row]), name(row)));
  return sum.hex();
}

void SplitPictures::leave_out_bad(unsigned threads) {
  constexpr std::size_t pictures_at_once = 16;
  BadPictures found(BadPictures::Policy::skip);
  parallel_for(threads, collection_.size(), pictures_at_once,
               [&](std::size_t begin, std::size_t end, unsigned) {
                 for (std::size_t i = begin; i < end; ++i)
                   if (std::optional<Bitmap> bitmap = found.read(collection_, i, least_side_))
                     keep(i, std::make_shared<const Bitmap>(std::move(*bitmap)));
               });
  std::vector<BadPicture> bad;
  for (const auto& [index, reason] : found.list()) bad.push_back({collection_.name(index), reason});
  leave_out(std::move(bad));
}

void SplitPictures::leave_out(std::vector<BadPicture> bad) {
  bad_ = std::move(bad);
  std::set<std::string> names;
  for (const BadPicture& one : bad_) names.insert(one.name);
  std::erase_if(usable_, [&](std::size_t i) { return names.contains(collection_.name(i)); });
}

std::shared_ptr<const Bitmap> SplitPictures::read(std::size_t i) {
  if (cache_[i]) return cache_[i];
  auto bitmap = std::make_shared<const Bitmap>(collection_.read(i, {}, least_side_));
  keep(i, bitmap);
  return bitmap;
}

void SplitPictures::keep(std::size_t i, std::shared_ptr<const Bitmap> bitmap) {
  const auto bytes = static_cast<std::int64_t>(bitmap->pixels.size());
  if (cache_bytes_left_.fetch_sub(bytes) >= bytes)
    cache_[i] = std::move(bitmap);
  else
    cache_bytes_left_.fetch_add(bytes);
}

void SplitPictures::forget(std::size_t begin, std::size_t end) {
  for (std::size_t row = begin; row < end; ++row)
    if (const auto bitmap = std::exchange(cache_[usable_[row]], nullptr))
      cache_bytes_left_.fetch_add(static_cast<std::int64_t>(bitmap->pixels.size()));
}

}  // namespace deepvoro
