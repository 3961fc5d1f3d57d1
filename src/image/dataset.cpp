#include "deepvoro/image/dataset.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "core/sha256.hpp"
#include "datasets/picture_source.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/files.hpp"
#include "deepvoro/core/parallel.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kTarMagicAt = 257;

bool has_csv_head(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (!text.starts_with("filename,label")) return false;
  text.remove_prefix(std::string_view("filename,label").size());
  return text.empty() || text[0] == '\n' || text.starts_with("\r\n");
}

PictureSource open_source(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return open_folder(path);
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  using std::string_view_literals::operator""sv;
  if (text.size() > kTarMagicAt && text.substr(kTarMagicAt).starts_with("ustar"))
    return open_tar(path);
  if (text.starts_with("\0\0\x08\x03"sv) || text.starts_with("\0\0\x08\x01"sv))
    return open_idx(path);
  if (has_csv_head(text)) return open_csv(path);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '{') return open_json(path);
  if (text.starts_with("\x1F\x8B"))
    throw data_error(fmt::format("{}: is compressed; use gunzip first", path.string()));
  throw data_error(
      fmt::format("{}: is no collection of pictures; give a folder with a folder for each class, "
                  "a tar of one, a JSON file with label_names, image_names and image_labels, a CSV "
                  "file with the head filename,label, or an idx file",
                  path.string()));
}

// The bytes of one picture, for as long as this lives.
class StoredPicture {
 public:
  StoredPicture(const PictureSource& source, const PicturePlace& picture) {
    if (source.container) {
      bytes_ = source.container->bytes().subspan(picture.offset, picture.size);
    } else {
      file_ = MappedFile(picture.path);
      bytes_ = file_.bytes();
    }
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  MappedFile file_;
  std::span<const std::byte> bytes_;
};

Image rgb_of_grey(std::span<const std::byte> grey, const GreyShape& shape) {
  Image image{shape.width, shape.height, {}};
  image.pixels.reserve(grey.size() * 3);
  for (const std::byte level : grey)
    image.pixels.insert(image.pixels.end(), 3, std::to_integer<std::uint8_t>(level));
  return image;
}

std::string hash_of(const PictureSource& source, const PicturePlace& picture) {
  try {
    return sha256_hex(StoredPicture(source, picture).bytes());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    return "unreadable";
  }
}

std::string with_class(const PictureSource& source, const PicturePlace& picture) {
  return source.classes[picture.label] + "/" + picture.file;
}

}  // namespace

ImageDataset::ImageDataset(std::shared_ptr<const PictureSource> source)
    : source_(std::move(source)) {}

ImageDataset ImageDataset::open(const std::filesystem::path& path) {
  auto source = std::make_shared<const PictureSource>(open_source(path));
  check_names(*source);
  return ImageDataset(std::move(source));
}

const std::vector<std::string>& ImageDataset::classes() const {
  return source_->classes;
}

std::size_t ImageDataset::size() const {
  return source_->pictures.size();
}

std::size_t ImageDataset::label(std::size_t i) const {
  return source_->pictures.at(i).label;
}

std::string ImageDataset::name(std::size_t i) const {
  const PicturePlace& picture = source_->pictures.at(i);
  return source_->folder_per_class ? with_class(*source_, picture) : picture.file;
}

Image ImageDataset::read(std::size_t i, const ImageLimits& limits) const {
  const PicturePlace& picture = source_->pictures.at(i);
  const StoredPicture stored(*source_, picture);
  if (source_->grey) return rgb_of_grey(stored.bytes(), *source_->grey);
  const std::string where = source_->container
                                ? fmt::format("{}: {}", source_->origin.string(), name(i))
                                : picture.path.string();
  return decode_image(stored.bytes(), where, limits);
}

std::vector<std::byte> ImageDataset::raw(std::size_t i) const {
  const StoredPicture stored(*source_, source_->pictures.at(i));
  return {stored.bytes().begin(), stored.bytes().end()};
}

std::string ImageDataset::sha256() const {
  std::vector<std::string> lines(size());
  parallel_for(available_threads(), size(), 16, [&](std::size_t begin, std::size_t end, unsigned) {
    for (std::size_t i = begin; i < end; ++i) {
      const PicturePlace& picture = source_->pictures[i];
      lines[i] = fmt::format("{}  {}\n", hash_of(*source_, picture), with_class(*source_, picture));
    }
  });
  const std::string text = std::accumulate(lines.begin(), lines.end(), std::string());
  return sha256_hex(std::as_bytes(std::span(text)));
}

}  // namespace deepvoro
