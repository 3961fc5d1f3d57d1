#include "picture/collection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "collections/picture_source.hpp"
#include "core/files.hpp"
#include "core/sha256.hpp"
#include "deepvoro/core/error.hpp"
#include "deepvoro/core/parallel.hpp"

namespace deepvoro {
namespace {

constexpr std::size_t kTarMagicAt = 257;

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

bool begins_like_archive(std::string_view text) {
  using std::string_view_literals::operator""sv;
  constexpr std::array starts{"PK\3\4"sv, "PK\5\6"sv,        "\x1F\x8B"sv,
                              "BZh"sv,    "\xFD\x37zXZ\0"sv, "\x28\xB5\x2F\xFD"sv};
  const bool is_tar = text.size() > kTarMagicAt && text.substr(kTarMagicAt).starts_with("ustar");
  return is_tar || std::ranges::any_of(
                       starts, [&](std::string_view start) { return text.starts_with(start); });
}

bool has_csv_header(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (!text.starts_with("filename,label")) return false;
  text.remove_prefix(std::string_view("filename,label").size());
  return text.empty() || text[0] == '\n' || text.starts_with("\r\n");
}

PictureSource open_source(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const FolderContents contents(path);
    if (contents.shards.empty()) return open_folder(path);
    check_holds_shards_alone(contents);
    return open_tar_shards(contents);
  }
  const MappedFile file(path);
  const std::string_view text = text_of(file);
  using std::string_view_literals::operator""sv;
  if (begins_like_archive(text)) return open_archive(path);
  if (text.starts_with("\0\0\x08\x03"sv) || text.starts_with("\0\0\x08\x01"sv))
    return open_idx(path);
  if (has_csv_header(text)) return open_csv(path);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '{') return open_json(path);
  throw data_error(fmt::format(
      "{}: is not a collection of pictures; give a folder with a folder for each "
      "class, a .tar, .tar.gz or .zip of one, a JSON file with label_names, image_names "
      "and image_labels, a CSV file with the header filename,label, or an idx file",
      path.string()));
}

PictureSource open_unlabelled_source(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return open_unlabelled_archive(path);
  const FolderContents contents(path);
  return contents.has_shards_alone() ? open_unlabelled_shards(contents)
                                     : open_unlabelled_folder(path);
}

// The bytes of one picture, for as long as this lives.
class StoredPicture {
 public:
  StoredPicture(const PictureSource& source, const PicturePlace& picture) {
    if (picture.unpacked) {
      bytes_ = *picture.unpacked;
    } else if (!source.containers.empty()) {
      bytes_ = source.containers[picture.container].bytes().subspan(picture.offset, picture.size);
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

Bitmap rgb_of_grey(std::span<const std::byte> grey, const GreyShape& shape) {
  Bitmap bitmap{shape.width, shape.height, {}};
  bitmap.pixels.reserve(grey.size() * 3);
  for (const std::byte level : grey)
    bitmap.pixels.insert(bitmap.pixels.end(), 3, std::to_integer<std::uint8_t>(level));
  return bitmap;
}

std::string with_class(const PictureSource& source, const PicturePlace& picture) {
  return source.classes[picture.label] + "/" + picture.file;
}

std::string sha256_line_of(const PictureSource& source, const PicturePlace& picture) {
  const std::string name = with_class(source, picture);
  try {
    return sha256_line(StoredPicture(source, picture).bytes(), name);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    return "unreadable  " + name + "\n";
  }
}

}  // namespace

bool is_archive(const std::filesystem::path& file) {
  return begins_like_archive(text_of(MappedFile(file)));
}

PictureCollection::PictureCollection(std::shared_ptr<const PictureSource> source)
    : source_(std::move(source)) {}

PictureCollection PictureCollection::open(const std::filesystem::path& path, ClassFolders folders) {
  PictureSource source = open_source(path);
  check_are_classes(source, folders);
  if (folders == ClassFolders::inner) take_inner_folders(source);
  check_names(source);
  return PictureCollection(std::make_shared<const PictureSource>(std::move(source)));
}

PictureCollection PictureCollection::open_unlabelled(const std::filesystem::path& path) {
  PictureSource source = open_unlabelled_source(path);
  check_names(source);
  return PictureCollection(std::make_shared<const PictureSource>(std::move(source)));
}

std::vector<std::string> PictureCollection::notes() const {
  return notes_on(*source_);
}

const std::vector<std::string>& PictureCollection::classes() const {
  return source_->classes;
}

std::size_t PictureCollection::size() const {
  return source_->pictures.size();
}

std::size_t PictureCollection::label(std::size_t i) const {
  return source_->pictures.at(i).label;
}

std::string PictureCollection::name(std::size_t i) const {
  const PicturePlace& picture = source_->pictures.at(i);
  return source_->folder_per_class ? with_class(*source_, picture) : picture.file;
}

std::string PictureCollection::where(std::size_t i) const {
  const PicturePlace& picture = source_->pictures.at(i);
  if (source_->containers.empty()) return picture.path.string();
  return (source_->containers[picture.container].path() / name(i)).string();
}

Bitmap PictureCollection::read(std::size_t i, const PictureLimits& limits,
                               std::size_t least_side) const {
  const PicturePlace& picture = source_->pictures.at(i);
  const StoredPicture stored(*source_, picture);
  if (source_->grey) return rgb_of_grey(stored.bytes(), *source_->grey);
  return decode_picture(stored.bytes(), where(i), limits, least_side);
}

std::vector<std::byte> PictureCollection::raw(std::size_t i) const {
  const StoredPicture stored(*source_, source_->pictures.at(i));
  return {stored.bytes().begin(), stored.bytes().end()};
}

std::size_t PictureCollection::stored_size(std::size_t i) const {
  const PicturePlace& picture = source_->pictures.at(i);
  if (picture.unpacked) return picture.unpacked->size();
  if (!source_->containers.empty()) return picture.size;
  std::error_code unreadable;
  const auto size = std::filesystem::file_size(picture.path, unreadable);
  return unreadable ? 0 : static_cast<std::size_t>(size);
}

std::string PictureCollection::sha256() const {
  return sha256_hex(sha256_lines(0, size()));
}

std::string PictureCollection::sha256_lines(std::size_t begin, std::size_t end) const {
  std::vector<std::string> lines(end - begin);
  parallel_for(available_threads(), lines.size(), 16,
               [&](std::size_t first, std::size_t last, unsigned) {
                 for (std::size_t i = first; i < last; ++i)
                   lines[i] = sha256_line_of(*source_, source_->pictures.at(begin + i));
               });
  return std::accumulate(lines.begin(), lines.end(), std::string());
}

}  // namespace deepvoro
