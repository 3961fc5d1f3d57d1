#include "core/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "deepvoro/core/error.hpp"

namespace deepvoro {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(const std::filesystem::path& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (number_ < 0)
      throw data_error(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)),
                       errno == ENOENT ? ErrorCode::missing_file : ErrorCode::none);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { ::close(number_); }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const FileDescriptor file(path);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode))
    throw data_error(fmt::format("{}: is not a regular file", path.string()));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (memory == MAP_FAILED)
    throw data_error(fmt::format("{}: cannot be mapped: {}", path.string(), std::strerror(errno)));
  bytes_ = {static_cast<const std::byte*>(memory), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  // munmap takes a pointer to non-const although it never writes.
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  static std::atomic<unsigned> count{0};
  std::error_code error;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path_, error);
  if (!error) path_ = target;  // a link stays a link, its target is replaced
  const auto status = std::filesystem::status(path_, error);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status))
    temporary_ = path_.string() + fmt::format(".{}.{}.part", ::getpid(), count++);
  stream_.open(temporary_.empty() ? path_ : temporary_, std::ios::binary);
  if (!stream_) {
    temporary_.clear();
    fail("created");
  }
}

AtomicFile::~AtomicFile() {
  if (temporary_.empty()) return;
  stream_.close();
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  stream_.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
  if (!stream_) fail("written");
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void AtomicFile::commit() {
  stream_.close();
  if (!stream_) fail("written");
  if (temporary_.empty()) return;
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) fail("written");
  temporary_.clear();
}

void AtomicFile::fail(const char* doing) const {
  throw data_error(
      fmt::format("{}: cannot be {}: {}; does the folder exist and may you write there?",
                  path_.string(), doing, std::strerror(errno)));
}

std::string read_text(const std::filesystem::path& path, std::size_t limit) {
  const MappedFile file(path);
  if (file.bytes().size() > limit)
    throw data_error(fmt::format("{}: has {} bytes, more than the {} such a file may have",
                                 path.string(), file.bytes().size(), limit));
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace deepvoro
