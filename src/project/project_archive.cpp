#include "project_archive.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "core/archive.hpp"
#include "picture/collections/picture_source.hpp"
#include "project_error.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

struct Discard {
  void operator()(zip_t* archive) const { ::zip_discard(archive); }
};

[[noreturn]] void fail_to_pack(const fs::path& file, const char* why) {
  throw ProjectError(Refusal::storage,
                     fmt::format("{}: cannot be written: {}", file.string(), why));
}

// Pictures are compressed already.
void add_file(zip_t* archive, const fs::path& from, const std::string& name) {
  zip_source_t* source = ::zip_source_file(archive, from.c_str(), 0, -1);
  if (source == nullptr) fail_to_pack(from, ::zip_strerror(archive));
  const zip_int64_t index = ::zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    ::zip_source_free(source);
    fail_to_pack(from, ::zip_strerror(archive));
  }
  ::zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
}

void add_folder(zip_t* archive, const fs::path& file, const std::string& name) {
  if (::zip_dir_add(archive, name.c_str(), ZIP_FL_ENC_UTF_8) < 0)
    fail_to_pack(file, ::zip_strerror(archive));
}

// The class that a folder in `pictures` is of.
std::optional<std::string> class_at(const fs::path& folder) {
  const fs::path path = folder.filename().empty() ? folder.parent_path() : folder;
  const std::string name = path.filename().string();
  if (path.parent_path().filename() != "pictures" || name.starts_with('.')) return std::nullopt;
  return name;
}

// The folder in `pictures`, or the one that the picture lies in.
std::string class_in(const fs::path& path) {
  auto part = std::find(path.begin(), path.end(), fs::path("pictures"));
  if (part == path.end() || ++part == path.end() || *part == path.filename())
    return path.parent_path().filename().string();
  return part->string();
}

}  // namespace

void write_archive(const Project& project, const ProjectSnapshot& snapshot, const fs::path& file) {
  int error = 0;
  std::unique_ptr<zip_t, Discard> archive(
      ::zip_open(file.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error));
  if (!archive) fail_to_pack(file, std::strerror(errno));
  std::error_code ignored;
  for (const auto& [id, picture] : snapshot.pictures) {
    const fs::path from = project.pictures_folder() / picture.home.class_name / picture.home.name;
    if (project.has_files() && fs::exists(from, ignored))
      add_file(archive.get(), from,
               fmt::format("pictures/{}/{}", picture.home.class_name, picture.home.name));
  }
  if (project.has_files())
    for (const std::string& name : snapshot.classes)
      if (snapshot.pictures_of(name).empty())
        add_folder(archive.get(), file, fmt::format("pictures/{}/", name));
  const fs::path classifier = file.string() + ".dv";
  if (snapshot.classifier) {
    snapshot.classifier->save(classifier);
    add_file(archive.get(), classifier, "classifier.dv");
  }
  const bool is_written = ::zip_close(archive.get()) == 0;
  fs::remove(classifier, ignored);
  if (!is_written) fail_to_pack(file, ::zip_strerror(archive.get()));
  (void)archive.release();  // closing gave it back
}

ArchivedPictures read_archive(std::span<const std::byte> file, std::size_t limit) {
  ArchivedPictures found;
  ArchiveReader archive(file, "the archive");
  std::vector<std::pair<std::string, std::string>> names;
  while (const auto path = archive.next()) {
    const fs::path name(*path);
    const std::string class_name = class_in(name);
    if (!has_picture_name(name) || class_name.empty() || class_name.starts_with('.') ||
        name.begin()->string().starts_with("__MACOSX"))
      continue;
    ArchiveReader::Content content = archive.content(limit);
    if (content.unpacked.empty())
      content.unpacked.assign(content.in_place.begin(), content.in_place.end());
    if (content.unpacked.size() > limit)
      throw data_error("the archive: is too large when unpacked; import it in parts");
    limit -= content.unpacked.size();
    found.files.push_back(std::move(content.unpacked));
    names.emplace_back(class_name, name.filename().string());
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    found.pictures.push_back({names[i].first, names[i].second, found.files[i]});
  for (const std::string& folder : archive.folders())
    if (const auto class_name = class_at(folder)) found.classes.push_back(*class_name);
  if (found.pictures.empty() && found.classes.empty())
    throw data_error(
        "the archive: holds no pictures in folders; a folder is needed for each class");
  return found;
}

}  // namespace deepvoro
