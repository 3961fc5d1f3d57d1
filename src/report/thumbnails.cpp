#include "report/thumbnails.hpp"

#include <algorithm>
#include <map>

#include "core/base64.hpp"
#include "core/text.hpp"
#include "picture/collection.hpp"
#include "picture/encode.hpp"
#include "picture/resize.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kLongestSide = 96;  // pixels

Bitmap small(const Bitmap& bitmap) {
  const std::size_t longest = std::max(bitmap.width, bitmap.height);
  if (longest <= kLongestSide) return bitmap;
  const auto side = [&](std::size_t length) {
    return std::max<std::size_t>(1, length * kLongestSide / longest);
  };
  return resized(bitmap, side(bitmap.width), side(bitmap.height));
}

}  // namespace

Thumbnails thumbnails_from(const std::filesystem::path& collection) {
  const PictureCollection pictures = PictureCollection::open(collection);
  std::map<std::string, std::vector<std::size_t>> by_class;
  for (std::size_t i = 0; i < pictures.size(); ++i)
    by_class[as_text_line(pictures.classes()[pictures.label(i)])].push_back(i);
  return [pictures, by_class](const Answers::OfClass& of_class, std::size_t place) -> std::string {
    const auto found = by_class.find(of_class.name);
    if (found == by_class.end() || found->second.size() != of_class.samples ||
        place >= found->second.size())
      return "";
    return base64(encode_png(small(pictures.read(found->second[place]))));
  };
}

}  // namespace deepvoro
