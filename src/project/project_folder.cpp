#include "project_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <tuple>

#include "core/files.hpp"
#include "picture/collections/picture_source.hpp"
#include "project_error.hpp"

namespace deepvoro {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPictures = "pictures";
constexpr const char* kRemoved = ".removed";

[[noreturn]] void fail_to_store(const fs::path& path, int error) {
  throw ProjectError(Refusal::storage,
                     fmt::format("{}: cannot be written: {}", path.string(), std::strerror(error)));
}

// So that names in it outlive a loss of power.
void keep_folder(const fs::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened) (void)::fsync(opened.number());  // some file systems cannot, and lose nothing by it
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_to_store(folder, error.value());
  keep_folder(folder.parent_path());
}

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

bool has_folders(const fs::path& folder) {
  std::error_code error;
  return std::ranges::any_of(fs::directory_iterator(folder, error), [](const auto& entry) {
    return entry.is_directory() && !is_hidden(entry.path());
  });
}

// A project of ours has its classes in `pictures`; a folder of somebody's pictures has them itself.
fs::path pictures_of(const fs::path& folder) {
  std::error_code error;
  const fs::path inner = folder / kPictures;
  if (!fs::is_directory(inner, error)) return has_folders(folder) ? folder : inner;
  const bool is_project = has_folders(inner) || fs::is_empty(inner, error);
  return is_project ? inner : folder;
}

Descriptor locked(const fs::path& folder) {
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened)
    throw data_error(
        fmt::format("{}: cannot be opened: {}", folder.string(), std::strerror(errno)));
  if (::flock(opened.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw data_error(
        fmt::format("{}: is served by another process already; stop that one, or use --read-only",
                    folder.string()));
  return opened;
}

}  // namespace

ProjectFolder::ProjectFolder(const fs::path& folder, Access access)
    : folder_(fs::absolute(folder).lexically_normal()) {
  if (folder_.filename().empty()) folder_ = folder_.parent_path();
  const bool changes = access == Access::changes;
  if (changes) make_folder(folder_);
  pictures_ = pictures_of(folder_);
  if (!changes) return;
  lock_ = locked(folder_);
  make_folder(pictures_);
  std::error_code ignored;
  fs::remove_all(folder_ / kRemoved, ignored);
  make_folder(folder_ / kRemoved);
}

void ProjectFolder::check_for_changes(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> made;  // from the inside
  for (fs::path missing = fs::absolute(folder).lexically_normal();
       !fs::exists(missing, error) && missing != missing.parent_path();
       missing = missing.parent_path())
    if (!missing.filename().empty()) made.push_back(missing);
  fs::create_directories(folder, error);
  if (!error) {
    if (made.empty()) (void)locked(folder);
    std::string inside = (folder / ".deepvoro-XXXXXX").string();
    if (::mkdtemp(inside.data()) == nullptr)
      error.assign(errno, std::generic_category());
    else
      made.insert(made.begin(), inside);
  }
  for (const fs::path& one : made) ::rmdir(one.c_str());
  if (error)
    throw data_error(fmt::format("{}: nothing can be written there ({}); choose another folder{}",
                                 folder.string(), error.message(),
                                 made.empty() ? ", or use `read_only`" : ""));
}

fs::path ProjectFolder::folder_of(const std::string& class_name) const {
  return pictures_ / class_name;
}

fs::path ProjectFolder::file_of(const PictureHome& home) const {
  return folder_of(home.class_name) / home.name;
}

fs::path ProjectFolder::removed(const std::string& name) const {
  return folder_ / kRemoved / name;
}

ProjectFolder::Contents ProjectFolder::contents() const {
  Contents contents;
  try {
    for (const auto& of_class : fs::directory_iterator(pictures_)) {
      if (!of_class.is_directory() || is_hidden(of_class.path())) continue;
      const std::string name = of_class.path().filename().string();
      contents.classes.push_back(name);
      for (const auto& entry : fs::recursive_directory_iterator(of_class.path())) {
        struct stat status {};
        if (!has_picture_name(entry.path()) || ::stat(entry.path().c_str(), &status) != 0 ||
            !S_ISREG(status.st_mode))
          continue;
        contents.pictures.push_back(
            {{name, entry.path().lexically_relative(of_class.path()).generic_string()},
             status.st_ctim,
             status.st_mtim});
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw data_error(
        fmt::format("{}: cannot be read: {}", error.path1().string(), error.code().message()));
  }
  std::ranges::sort(contents.classes);
  std::ranges::sort(contents.pictures, {}, [](const Found& found) {
    return std::tie(found.home.class_name, found.home.name);
  });
  return contents;
}

void ProjectFolder::write(const PictureHome& home, std::span<const std::byte> bytes) const {
  try {
    AtomicFile file(file_of(home));
    file.write(bytes);
    file.commit();
  } catch (const Error& error) {
    throw ProjectError(Refusal::storage, error.what());
  }
}

void ProjectFolder::make_class(const std::string& class_name) const {
  make_folder(folder_of(class_name));
}

void ProjectFolder::move(const fs::path& from, const fs::path& to) const {
  // Somebody else may have removed it.
  if (to.parent_path() != pictures_) make_folder(to.parent_path());
  // A folder that is not empty is not replaced, and names of files are made so that none is.
  if (::rename(from.c_str(), to.c_str()) != 0) fail_to_store(to, errno);
  keep_folder(from.parent_path());
  keep_folder(to.parent_path());
}

void ProjectFolder::remove_empty_class(const std::string& class_name) const {
  const fs::path folder = folder_of(class_name);
  if (::rmdir(folder.c_str()) != 0 && errno != ENOENT) fail_to_store(folder, errno);
  keep_folder(pictures_);
}

}  // namespace deepvoro
