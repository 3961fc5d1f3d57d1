#include "core/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <iterator>
#include <utility>

#include "core/changed_files.hpp"
#include "core/temporary_name.hpp"
#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

Descriptor opened(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file)
    throw data_error(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)),
                     errno == ENOENT ? ErrorCode::missing_file : ErrorCode::none);
  return file;
}

// So that what was renamed has its new name even if the machine stops now.
void keep_names_in(const std::filesystem::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened) (void)::fsync(opened.number());  // some file systems cannot, and lose nothing by it
}

}  // namespace

const char* writing_advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; make room or write to another disk";
    case EFBIG:
      return "; raise the limit of file sizes (ulimit -f)";
    case ENOENT:
    case ENOTDIR:
      return "; does the folder exist?";
    case EISDIR:
      return "; name a file";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; may you write there?";
    default:
      return "";
  }
}

MappedFile::MappedFile(const std::filesystem::path& path)
    : path_(std::make_unique<const std::filesystem::path>(path)) {
  const Descriptor file = opened(path);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode))
    throw data_error(fmt::format("{}: is not a regular file", path.string()));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (memory == MAP_FAILED)
    throw data_error(fmt::format("{}: cannot be mapped: {}", path.string(), std::strerror(errno)));
  bytes_ = {static_cast<const std::byte*>(memory), size};
  written_ = status.st_mtim;
  file_ = {status.st_dev, status.st_ino};
  guard_ = MappingGuard(bytes_, *path_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      bytes_(std::exchange(other.bytes_, {})),
      file_(std::move(other.file_)),
      written_(other.written_),
      guard_(std::move(other.guard_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  std::swap(file_, other.file_);
  std::swap(written_, other.written_);
  std::swap(guard_, other.guard_);
  return *this;
}

MappedFile::~MappedFile() {
  // munmap takes a pointer to non-const although it never writes.
  if (bytes_.empty()) return;
  // While an error is under way there is nothing left to be saved from.
  if (std::uncaught_exceptions() == 0 && has_changed()) remember_changed_file(*path_);
  guard_ = {};
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

bool MappedFile::has_changed() const {
  struct stat now {};
  // What was removed or replaced is still there for those who have it mapped.
  if (::stat(path_->c_str(), &now) != 0 || file_ != std::pair(now.st_dev, now.st_ino)) return false;
  return static_cast<std::size_t>(now.st_size) != bytes_.size() ||
         now.st_mtim.tv_sec != written_.tv_sec || now.st_mtim.tv_nsec != written_.tv_nsec;
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path_, error);
  if (!error) path_ = target;  // a link stays a link, its target is replaced
  const auto status = std::filesystem::status(path_, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!file_) fail("created");
    return;
  }
  remove_leftovers(path_);
  do {
    temporary_ = temporary_name(path_);
    constexpr mode_t less_what_the_user_masks = 0666;
    file_ =
        Descriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                          less_what_the_user_masks));
    if (!file_) {
      temporary_.clear();
      fail("created");
    }
  } while (!lock_temporary(file_.number()));
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t room = std::size_t{1} << 16U;
  if (waiting_.size() + bytes.size() <= room) {
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    return;
  }
  flush();
  write_now(bytes);
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void AtomicFile::flush() {
  write_now(waiting_);
  waiting_.clear();
}

void AtomicFile::write_now(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.number(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) fail("written");
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit(Durability durability) {
  throw_if_files_changed();
  flush();
  if (temporary_.empty()) {
    if (!file_.close()) fail("written");
    return;
  }
  const bool to_disk = durability == Durability::loss_of_power;
  if (to_disk) {
    if (::fsync(file_.number()) != 0) fail("written");
  } else {
    // Network file systems report a full disk when a file is closed. Closing a duplicate keeps the
    // lock.
    Descriptor same(::fcntl(file_.number(), F_DUPFD_CLOEXEC, 0));
    if (!same || !same.close()) fail("written");
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("written");
  temporary_.clear();
  if (!file_.close()) fail("written");
  if (to_disk) keep_names_in(path_.parent_path());
}

void AtomicFile::fail(const char* doing) const {
  const int error = errno;
  throw data_error(fmt::format("{}: cannot be {}: {}{}", path_.string(), doing,
                               std::strerror(error), writing_advice(error)));
}

std::string read_text(const std::filesystem::path& path, std::size_t limit) {
  const MappedFile file(path);
  if (file.bytes().size() > limit)
    throw data_error(fmt::format("{}: has {} bytes, more than the {} such a file may have",
                                 path.string(), file.bytes().size(), limit));
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace deepvoro
